/**
 * `POST /api/admin/tasks`: exports, imports, backups, restores and forks of the running store, for administrators. The body is
 * a task (backup/tasks.ts); the answer is lines of JSON as the work goes on:
 *
 *     {"progress":{"what":…,"bytes":…,"bytesTotal":…,"rows":…,"cells":…}}     now and then
 *     {"item":…}                                                             what a comparison or a read finds, one by one
 *     {"result":…}   or   {"error":"Class","message":…,"retryable":…}         the last line
 *
 * Who goes away stops the work: what it began is undone, or can be resumed, as the task says.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { plainOf, richOf, runTask, taskOf } from '../../backup/index.ts';
import type { Task, WorkFigures } from '../../backup/index.ts';
import { StoreException } from '../../io/index.ts';
import { shownError } from './answers.ts';
import { sendAnswer } from './parts.ts';
import type { ApiParts } from './parts.ts';
import { jsonBody } from './request.ts';

const BODY_BYTES_MAX: number = 1024 * 1024;
const PROGRESS_EVERY_MS = 500;
/** Items that wait for their reader. */
const ITEMS_MAX = 1000;
const ITEM_CHARACTERS_MAX = 1024 * 1024;

export function addTaskRoute(app: FastifyInstance, parts: ApiParts): void {
  app.post('/api/admin/tasks', async (request, reply) => {
    let task: Task;
    try {
      parts.callerOf(request, true);
      task = taskOf(richOf(await jsonBody(request, BODY_BYTES_MAX)));
    } catch (error) {
      const answer = shownError(error);
      if (answer.status === 401) reply.header('www-authenticate', 'Basic realm="cellar"');
      return sendAnswer(reply, answer);
    }
    const gone = { yes: false };
    // Of this answer: its connection may carry many.
    reply.raw.once('close', () => (gone.yes = true));
    reply.header('content-type', 'application/x-ndjson; charset=utf-8');
    reply.header('cache-control', 'no-store');
    return reply.send(
      Readable.from(
        linesOf(parts, task, () => gone.yes),
        { objectMode: false },
      ),
    );
  });
}

async function* linesOf(
  parts: ApiParts,
  task: Task,
  isStopped: () => boolean,
): AsyncGenerator<string> {
  const { timers } = parts.env;
  let figures: WorkFigures | null = null;
  const answer: { last: string | null } = { last: null };
  const { connection } = parts;
  const items = new ItemQueue();
  const done = runTask(connection, task, {
    isStopped,
    onProgress: (now) => (figures = now),
    onItem: async (item) => {
      await items.put(`${JSON.stringify({ item: plainOf(item) })}\n`);
      return !isStopped();
    },
  }).then(
    (result) => {
      answer.last = JSON.stringify({ result: plainOf(result) });
    },
    (error: unknown) => {
      if (!(error instanceof StoreException)) {
        connection.server.logger.error({ err: error }, 'a task failed');
      }
      answer.last = JSON.stringify(errorOf(error));
    },
  );
  try {
    while (answer.last === null) {
      await Promise.race([done, items.whenAny(), timers.sleep(PROGRESS_EVERY_MS)]);
      yield* items.take();
      if (answer.last === null && figures !== null)
        yield `${JSON.stringify({ progress: figures })}\n`;
    }
    yield* items.take();
    yield `${answer.last}\n`;
  } finally {
    items.close();
  }
}

interface Signal {
  readonly given: Promise<void>;
  readonly give: () => void;
}

function signal(): Signal {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}

/** Lines on their way to a reader that may be slow: who puts them waits for it. */
class ItemQueue {
  #lines: string[] = [];
  #characters = 0;
  #wanted = signal();
  #taken = signal();
  #isClosed = false;

  put(line: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#lines.push(line);
    this.#characters += line.length;
    this.#wanted.give();
    const hasRoom = this.#lines.length < ITEMS_MAX && this.#characters < ITEM_CHARACTERS_MAX;
    return hasRoom ? Promise.resolve() : this.#taken.given;
  }

  /** Settles when there is a line. */
  whenAny(): Promise<void> {
    return this.#wanted.given;
  }

  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#characters = 0;
    this.#wanted = signal();
    this.#taken.give();
    this.#taken = signal();
    return lines;
  }

  /** Nobody reads any more: nobody waits. */
  close(): void {
    this.#isClosed = true;
    this.#taken.give();
  }
}

function errorOf(error: unknown): Readonly<Record<string, unknown>> {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { error: name, message, retryable: error instanceof StoreException && error.retryable };
}
