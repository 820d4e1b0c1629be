/** The notices of the installation: the side bar counts them, the overview lists them. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Loaded, useLoaded } from '../loaded.ts'

/** A row of `GET /admin/attention`. */
export interface AttentionRow {
  readonly id: string
  readonly kind: string
  readonly severity: 'bad' | 'warn' | 'info'
  readonly since: string
  readonly subject: { readonly type: string; readonly id: string; readonly label: string }
  readonly facts: Readonly<Record<string, unknown>>
  readonly customer: string | null
  /** Null: of the installation, in both modes. */
  readonly mode: string | null
}

interface AttentionBody {
  readonly data: readonly AttentionRow[]
}

const POLL_MS = 15_000

/** Set by the frame of the console. */
export const attentionList = signal<Loaded<AttentionBody> | undefined>(undefined)

/** Loads the notices for all parts of the console. */
export function useAttentionList(): readonly AttentionRow[] {
  const list = useLoaded<AttentionBody>('/admin/attention', { everyMs: POLL_MS })
  useEffect(() => {
    attentionList.value = list
  })
  return list.data?.data ?? []
}

interface NoticeScope {
  readonly mode: string
  readonly customer: string | undefined
}

/** Returns the notices on what the pages list in this scope: a badge counts rows of its page. */
export const noticesIn = (
  scope: NoticeScope,
  rows: readonly AttentionRow[],
): readonly AttentionRow[] =>
  rows.filter(
    ({ mode, customer }) =>
      (mode === null || mode === scope.mode) &&
      (scope.customer === undefined || customer === null || customer === scope.customer),
  )

const NODE_KINDS = [
  'node_not_ready',
  'node_warning',
  'node_start_failed',
  'node_busy',
  'node_options_differ',
  'node_declarations_differ',
  'queue_old',
]

/** Returns the words beside a link of the side bar. */
export function tallyOf(label: string, rows: readonly AttentionRow[]): string | undefined {
  const count = (kind: string) => rows.filter((row) => row.kind === kind).length
  if (label === 'Webhooks') {
    const failing = count('endpoint_failing') + count('endpoint_disabled')
    return failing === 0 ? undefined : `${failing} failing`
  }
  if (label === 'Versions') {
    const ending = rows.find(({ kind }) => kind === 'version_ending')
    return ending && `${ending.subject.label} ends`
  }
  if (label === 'System') {
    const unready = NODE_KINDS.reduce((sum, kind) => sum + count(kind), 0)
    return unready === 0 ? undefined : String(unready)
  }
  return undefined
}
