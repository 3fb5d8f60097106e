/** `/api/xa/*`: XA's verbs; an xid is `{"format":n,"gtrid":hex,"bqual":hex}`. */
import type { FastifyInstance } from 'fastify';
import { XaException } from '../../model/index.ts';
import type { XaCode, Xid } from '../../model/index.ts';
import { XaVerbs, xaExceptionOf } from '../../txn/index.ts';
import { shownStatus } from './answers.ts';
import type { Answer } from './answers.ts';
import type { ApiParts } from './parts.ts';
import { parseLines } from './load_lines.ts';
import { bigintOf, bodyBytes, checkServer, flagOf, jsonBody, numberOf, textOf } from './request.ts';
import type { Parameters } from './request.ts';
import { beginOf } from './transactions.ts';

const BODY_BYTES_MAX: number = 1024 * 1024;

const STATUS_OF: Readonly<Record<XaCode, number>> = {
  XAER_DUPID: 409,
  XAER_INVAL: 400,
  XAER_NOTA: 404,
  XAER_PROTO: 409,
  XAER_RMERR: 500,
  XAER_RMFAIL: 503,
  XA_RBROLLBACK: 409,
  XA_RBTIMEOUT: 409,
};

type Verb = (xid: Xid, parameters: Parameters) => Promise<Readonly<Record<string, unknown>>>;

export function addXaRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { transactions } = parts.connection;
  const xa = new XaVerbs(transactions);
  const verb = (name: string, run: Verb): void => {
    parts.add(app, ['POST', 'PUT'], `/api/xa/${name}`, async (request) => {
      const parameters = await jsonBody(request, BODY_BYTES_MAX);
      checkServer(parameters, transactions.serverId);
      return answerOf(() => run(xidOf(parameters), parameters));
    });
  };
  verb('start', async (xid, parameters) => {
    const options = beginOf({ ...parameters, label: 'xa' });
    return { xa: 'XA_OK', state: 'ACTIVE', txn_id: String((await xa.start(xid, options)).txnId) };
  });
  verb('end', async (xid, parameters) => {
    const resume = flagOf(parameters, 'resume');
    await xa.end(xid, { resume });
    return { xa: 'XA_OK', state: resume ? 'ACTIVE' : 'IDLE' };
  });
  verb('prepare', async (xid) => ({ xa: await xa.prepare(xid) }));
  verb('commit', async (xid, parameters) => {
    const answer = await xa.commit(xid, { onePhase: flagOf(parameters, 'onephase') });
    return { xa: 'XA_OK', already: answer.already, ...shownStatus(answer) };
  });
  verb('rollback', async (xid) => {
    await xa.rollback(xid);
    return { xa: 'XA_OK' };
  });
  verb('forget', async (xid) => {
    await xa.forget(xid);
    return { xa: 'XA_OK' };
  });
  parts.add(app, ['POST', 'PUT'], '/api/xa/load', async (request) => {
    const query = request.query as Parameters;
    checkServer(query, transactions.serverId);
    const encoding = textOf(query, 'encoding') === 'utf8' ? 'utf8' : 'base64';
    const table = textOf(query, 'table');
    const body = await bodyBytes(request, transactions.knobs.txn_max_request_bytes * 2 + 1024);
    return answerOf(async () => {
      const xid = xidOf({ format: numberOf(query, 'format'), ...query });
      const operations = parseLines(body, encoding);
      const options = table === undefined ? {} : { table };
      const result = await xa.load(xid, numberOf(query, 'seq') ?? 0, operations, options);
      return { xa: 'XA_OK', ...result };
    });
  });
  parts.add(app, ['GET'], '/api/xa/recover', async (request) => {
    const query = request.query as Parameters;
    const limit = numberOf(query, 'limit');
    const after = bigintOf(query, 'after');
    return answerOf(async () => {
      const found = await xa.recover({
        prefix: textOf(query, 'prefix') ?? '',
        ...(limit === undefined ? {} : { limit }),
        ...(after === undefined ? {} : { after }),
      });
      const last = found.at(-1);
      return {
        xa: 'XA_OK',
        xids: found.map(({ xid }) => xid),
        ...(last !== undefined && found.length === limit ? { next_after: String(last.txnId) } : {}),
      };
    });
  });
}

function xidOf(parameters: Parameters): Xid {
  const given = (parameters['xid'] ?? parameters) as Parameters;
  const format = Number(given['format']);
  const gtrid = (textOf(given, 'gtrid') ?? '').toLowerCase();
  const bqual = (textOf(given, 'bqual') ?? '').toLowerCase();
  return { format, gtrid, bqual };
}

async function answerOf(run: () => Promise<Readonly<Record<string, unknown>>>): Promise<Answer> {
  try {
    return { status: 200, body: { status: 'OK', ...(await run()) } };
  } catch (error) {
    const refusal = error instanceof XaException ? error : xaExceptionOf(error);
    return {
      status: STATUS_OF[refusal.code],
      body: {
        status: 'FAILED',
        error: refusal.code,
        message: refusal.message,
        retryable: refusal.retryable,
      },
    };
  }
}
