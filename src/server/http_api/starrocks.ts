/** The members that StarRocks's clients look for, when parameters came as headers, as they send them. */
import type { Answer } from './answers.ts';
import { given } from './answers.ts';
import type { Parameters } from './request.ts';

/** OPEN → RUNNING and so on: StarRocks's words for what a label is used by. */
const JOB_STATUS: Readonly<Record<string, string>> = {
  OPEN: 'RUNNING',
  PREPARED: 'PREPARED',
  COMMITTED: 'FINISHED',
  ABORTED: 'ABORTED',
};

export function starrocksAnswer({ status, body }: Answer, parameters: Parameters): Answer {
  const state = typeof body['state'] === 'string' ? body['state'] : undefined;
  const isOk = body['status'] === 'OK';
  return {
    status,
    body: given({
      ...body,
      TxnId: body['txn_id'] ?? parameters['txn_id'],
      Label: body['label'] ?? parameters['label'],
      Status: isOk ? 'OK' : body['error'],
      Message: isOk ? '' : body['message'],
      ExistingJobStatus:
        body['error'] === 'LABEL_ALREADY_EXISTS' ? JOB_STATUS[state ?? ''] : undefined,
      NumberTotalRows: body['rows'],
      NumberLoadedRows: body['rows'],
      NumberFilteredRows: isOk && body['rows'] !== undefined ? 0 : undefined,
      LoadBytes: body['bytes'],
    }),
  };
}
