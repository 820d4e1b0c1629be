/** The failure of a thread that the process could not start. Pure. */
import { Failure } from './failure.ts'

const MESSAGE =
  'The server has too few file descriptors (ulimit -n) or too little memory to start a thread. ' +
  'Retry later.'

/** Returns the error of a thread, as a 503 if the thread did not start: it may start later. */
export function threadFailureOf(error: unknown): unknown {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (code !== 'ERR_WORKER_INIT_FAILED') return error
  return new Failure('overloaded', MESSAGE, { detail: error })
}
