/** Polls what operators look at: `/readyz`, metrics, attention and System of each node. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { getFrom } from './node-requests.ts'
import type { Witness } from './witness.ts'

const INTERVAL_MS = 500
/** Metrics and attention cost more than a probe. */
const ROUNDS = 4

/** Lines of `/metrics` that alerts compare with a bound. */
const ALARMS = [
  /^gatehook_check_failed\{.*\} 1$/,
  /^gatehook_database_fault\{.*\} 1$/,
  /^gatehook_lock_holders(\{.*\})? [1-9]/,
  /^gatehook_storage_connection_waits(\{.*\})? [1-9]/,
  /^gatehook_clock_difference_seconds(\{.*\})? -?([3-9]|\d\d)/,
  /^gatehook_job_longest_run_seconds\{.*\} [1-9]\d/,
  /^gatehook_database_available(\{.*\})? 0$/,
  /^gatehook_durability_lost(\{.*\})? 1$/,
  /^gatehook_webhook_receivers\{.*health="(slow|failing)".*\} [1-9]/,
  /^gatehook_certificate_end_timestamp_seconds/,
  /^gatehook_http_probes_total\{route="\/readyz",status="503"\} [1-9]\d\d/,
]

interface Readiness {
  readonly reasons?: readonly { readonly check: string; readonly message: string }[]
  readonly warnings?: readonly { readonly check: string; readonly message: string }[]
}

interface Attention {
  readonly data: readonly {
    readonly kind: string
    readonly severity: string
    readonly subject: { readonly label: string }
    readonly facts: object
  }[]
}

interface System {
  readonly health: Readiness
  readonly nodes: readonly (Readiness & { readonly name: string; readonly state: string })[]
}

export interface WatchOptions {
  readonly cluster: Pick<Cluster, 'nodes'>
  readonly key: string
  readonly witness: Witness
}

/** Returns the function that ends the watch. */
export function watch({ cluster, key, witness }: WatchOptions): () => Promise<void> {
  let isWatching = true
  const probe = async (url: string) => {
    const { status, text } = await getFrom(`${url}/readyz`)
    const { reasons = [], warnings = [] } = JSON.parse(text) as Readiness
    for (const { check, message } of [...reasons, ...warnings]) {
      witness.hear(`/readyz ${status}`, `${check}: ${message}`)
    }
  }
  const readMetrics = async (url: string) => {
    const { text } = await getFrom(`${url}/metrics`, { 'x-api-key': key })
    for (const line of text.split('\n')) {
      if (ALARMS.some((alarm) => alarm.test(line))) witness.hear('/metrics', line)
    }
  }
  const readAttention = async (url: string) => {
    const { status, text } = await getFrom(`${url}/admin/attention`, { 'x-api-key': key })
    if (status !== 200) return
    for (const { kind, severity, subject, facts } of (JSON.parse(text) as Attention).data) {
      const names = Object.entries(facts).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
      witness.hear('attention', `${severity} ${kind}: ${subject.label}, ${names.join(', ')}`)
    }
  }
  const readSystem = async (url: string) => {
    const { status, text } = await getFrom(`${url}/admin/system`, { 'x-api-key': key })
    if (status !== 200) return
    const { health, nodes } = JSON.parse(text) as System
    const own = { name: 'this node', state: 'answers', ...health }
    for (const { name, state, reasons = [], warnings = [] } of [own, ...nodes]) {
      const sentences = [...reasons, ...warnings].map(
        ({ check, message }) => `${check}: ${message}`,
      )
      if (sentences.length > 0 || state === 'gone') {
        witness.hear('system', `${name} ${state}: ${sentences.join(' ')}`)
      }
    }
  }
  const run = async () => {
    for (let round = 0; isWatching; round++) {
      const all = [probe, readMetrics, readAttention, readSystem]
      const readers = round % ROUNDS === 0 ? all : [probe]
      // A node that is stopped or has ended says nothing.
      await Promise.allSettled(cluster.nodes.flatMap(({ url }) => readers.map((read) => read(url))))
      await pause(INTERVAL_MS)
    }
  }
  const running = run()
  return async () => {
    isWatching = false
    await running
  }
}
