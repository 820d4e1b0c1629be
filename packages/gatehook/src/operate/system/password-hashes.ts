/** Says that password hashes wait for the CPU, so that sign-ins are slow or time out. */
import type { HashPace } from '../../identity/people/hash-pace.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

interface PasswordHashes {
  readonly warning: HealthCheck
  readonly metrics: readonly Metric[]
}

const OTHERS =
  'Password hashes wait for the CPU, which other programs of this machine use: sign-ins are ' +
  'slow. End those programs, or give the node cores of its own.'

const secondsOf = (ms: number): string => (ms / 1000).toFixed(ms < 100 ? 2 : 1)

export function createPasswordHashes(
  pace: Pick<HashPace, 'isStarved' | 'slow' | 'totals'>,
): PasswordHashes {
  const counter = (name: string, help: string, read: () => number): Metric => ({
    ...{ name, help, type: 'counter' },
    read: () => [{ value: read() }],
  })
  return {
    warning() {
      if (pace.isStarved()) return OTHERS
      const slow = pace.slow()
      if (!slow) return undefined
      return (
        `The last password hash took ${secondsOf(slow.elapsedMs)} s, and had the CPU for ` +
        `${secondsOf(slow.cpuMs)} s of them: the cores of this machine are busy. Sign-ins are ` +
        'slow: add a core, or a node.'
      )
    },
    metrics: [
      counter(
        'gatehook_password_hashes_total',
        'Passwords that this process has hashed.',
        () => pace.totals().count,
      ),
      counter(
        'gatehook_password_hash_seconds_total',
        'Time that hashes of passwords took, without their wait for a thread.',
        () => pace.totals().elapsedMs / 1000,
      ),
      counter(
        'gatehook_password_hash_cpu_seconds_total',
        'Time for which hashes of passwords had the CPU.',
        () => pace.totals().cpuMs / 1000,
      ),
    ],
  }
}
