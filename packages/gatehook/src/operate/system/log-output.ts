/** Says that the log of this node does not reach its file or its reader: the log cannot. */
import type { OutputState } from '../../kernel/output-state.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

const FULL = 'Its disk is full: free space.'

/** Remedies by the code of the failed write. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EFBIG: 'Its file has the largest size that is allowed: rotate it, or raise ulimit -f.',
  EIO: 'Its disk fails: replace the disk, or write the log elsewhere.',
  EPIPE: 'The program that reads it has ended: restart the node with a reader.',
}
const UNREAD = 'The program that reads it does not read, or too slowly: restart that program.'
const WAIT = 'Up to 32 MiB of lines wait; further ones are dropped.'

interface LogOutput {
  readonly warning: HealthCheck
  readonly metrics: readonly Metric[]
}

export function createLogOutput(state: Pick<OutputState, 'fault' | 'counts'>): LogOutput {
  return {
    warning() {
      const fault = state.fault()
      if (!fault) return undefined
      const { code } = fault
      const remedy = code === undefined ? UNREAD : (REMEDIES[code] ?? `Its write fails: ${code}.`)
      return `The log of this node is not written. ${remedy} ${WAIT}`
    },
    metrics: [
      gauge('gatehook_log_failing', '1 while lines of the log are not written.', () =>
        state.fault() ? 1 : 0,
      ),
      gauge(
        'gatehook_log_lines_waiting',
        'Lines of the log that wait to be written.',
        () => state.counts().waiting,
      ),
      {
        name: 'gatehook_log_lines_dropped_total',
        help: 'Lines of the log that were dropped, because too many waited.',
        type: 'counter',
        read: () => [{ value: state.counts().dropped }],
      },
    ],
  }
}
