/** Notices, the most urgent first: sentences on the facts of the API. */
import { ApiFailure, type Query, send } from '../../api.ts'
import { nowMs, slowNow } from '../../clock.ts'
import { discardEventCommand, restoreRevocationsCommand } from '../../commands.ts'
import { ago, count, day, number, percent } from '../../format.ts'
import { Button } from '../../parts/button.tsx'
import { AttentionList, Part } from '../../parts/notices.tsx'
import type { Tone } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useStream } from '../../stream.ts'
import { type AttentionRow, attentionList } from '../attention-list.ts'
import { customerName } from '../customer-names.ts'
import { modeWord } from '../scope.ts'
import { mayChange } from '../session.ts'
import {
  fact,
  isPast,
  listFact,
  sinceOf,
  textFact,
  untilOf,
  type Words,
} from './attention-facts.ts'
import { JOB_NOTICES } from './job-notices.tsx'
import { NODE_NOTICES } from './node-notices.tsx'

const TONES: Readonly<Record<AttentionRow['severity'], Tone>> = {
  bad: 'bad',
  warn: 'warn',
  info: 'idle',
}
const MAX_ROWS = 8
const DAY_MS = 86_400_000

const Label = ({ row }: { readonly row: AttentionRow }) => (
  <>
    <b>{row.subject.label}</b>
    {row.customer && ` of ${customerName(row.customer)}`}
  </>
)

/** A notice leads to the mode and customer of its subject. */
const scopeOf = ({ mode, customer }: AttentionRow): Query =>
  mode === null ? {} : { mode: modeWord(mode), customer: customer ?? undefined }

const endpointLink = (row: AttentionRow) =>
  ['Open', href(`/console/webhooks/${row.subject.id}`, scopeOf(row))] as const

/** The server ends an idle session of a node by itself. */
function lockRemedy(row: AttentionRow): string {
  if (row.subject.type === 'process') return 'End it, or the transaction that it has open.'
  const queue = textFact(row, 'queue')
  if (queue !== undefined) return queue
  const node = textFact(row, 'node')
  return node === undefined || row.facts.state === 'active'
    ? `End it: SELECT pg_terminate_backend(${fact(row, 'pid')})`
    : `The node ${node} hangs, is overloaded or has lost its network, or its own code waits. The ` +
        'server ends such a session within seconds: restart that node if others follow.'
}

/** The owners of a limit of connections. */
const CONNECTION_OWNERS: Readonly<Record<string, string>> = {
  server: 'The server of the database',
  role: 'The role of the nodes',
  database: 'The database',
}

const KINDS: Readonly<Record<string, Words>> = {
  endpoint_failing: {
    word: 'Failing',
    sentence: (row) => (
      <>
        <Label row={row} /> has accepted no delivery for {sinceOf(row)}
        {textFact(row, 'cause') && ` (${textFact(row, 'cause')})`}. It is disabled in{' '}
        {untilOf(row, 'disabled_at')} unless it accepts a delivery before.
      </>
    ),
    link: endpointLink,
  },
  endpoints_failing: {
    word: 'Failing',
    sentence: (row) => (
      <>
        <b>{count(fact(row, 'receivers'), 'receiver')}</b> accept no delivery for {sinceOf(row)},
        all for one cause: {textFact(row, 'cause')}. {listFact(row, 'urls')}
      </>
    ),
    link: () => ['Webhooks', href('/console/webhooks')],
  },
  endpoint_disabled: {
    word: 'Disabled',
    sentence: (row) => (
      <>
        <Label row={row} /> is disabled since {day(row.since)}: {textFact(row, 'reason')}. Its
        events wait until it is resumed.
      </>
    ),
    link: endpointLink,
  },
  key_refused: {
    word: 'Rejected',
    sentence: (row) => (
      <>
        {row.subject.type === 'client' ? 'Client' : 'Key'} <Label row={row} /> was rejected{' '}
        {count(fact(row, 'refused'), 'time')} in the last hour
        {textFact(row, 'reason') && `: ${textFact(row, 'reason')}`}. The last time was{' '}
        {ago(textFact(row, 'last_at') ?? row.since, slowNow().value)}.
      </>
    ),
    link: (row) => [
      'Why',
      href('/console/requests', { ...scopeOf(row), ...callerOf(row.subject), ...DENIED }),
    ],
  },
  key_moved: {
    word: 'New address',
    sentence: (row) => (
      <>
        Key <Label row={row} /> is used from {listFact(row, 'addresses')} for {sinceOf(row)}; before
        that from {count(fact(row, 'earlier'), 'other address', 'other addresses')}. Unless its
        owner has moved, it has leaked: revoke it.
      </>
    ),
    link: (row) => ['Open', href(`/console/keys/${row.subject.id}`, scopeOf(row))],
  },
  key_expiring: {
    word: 'Expires',
    sentence: (row) => (
      <>
        Key <Label row={row} /> expires in {untilOf(row, 'expires_at')} and was used{' '}
        {ago(textFact(row, 'last_used_at') ?? row.since, slowNow().value)}.
      </>
    ),
    link: (row) => ['Open', href(`/console/keys/${row.subject.id}`, scopeOf(row))],
  },
  version_ending: {
    word: 'Ends',
    sentence: (row) => (
      <>
        <b>{count(fact(row, 'callers'), 'caller')}</b> used {row.subject.label} in the last 30 days.
        It ends in {untilOf(row, 'sunset_at')}, on {day(textFact(row, 'sunset_at') ?? row.since)}.
      </>
    ),
    link: ({ subject }) => ['Who', href(`/console/versions/${subject.id}`)],
  },
  certificate_expiring: {
    word: 'Expires',
    sentence: (row) => (
      <>
        The certificate of {listFact(row, 'nodes') || 'the server'}{' '}
        {isPast(row, 'ends_at') ? (
          'has ended'
        ) : (
          <>
            ends in <b>{untilOf(row, 'ends_at')}</b>
          </>
        )}
        .
      </>
    ),
    link: () => ['Open', href('/console/system')],
  },
  endpoint_slow: {
    word: 'Slow',
    sentence: (row) => (
      <>
        The receiver of <Label row={row} /> takes 2 s or more, and{' '}
        <b>{count(fact(row, 'waiting'), 'delivery', 'deliveries')}</b> wait for it.
      </>
    ),
    link: endpointLink,
  },
  token_reuse: {
    word: 'Reused',
    sentence: () => (
      <>A rotated refresh token was presented again, so the server revoked its token family.</>
    ),
    link: () => ['Open', href('/console/audit')],
  },
  audit_set_back: {
    word: 'Set back',
    sentence: (row) => (
      <>
        The audit chain ended at row {number(fact(row, 'stored_seq'))}; a node knew row{' '}
        {number(fact(row, 'last_seq'))}. Another program changed the trail, or a failover lost rows.
      </>
    ),
    link: () => ['Open', href('/console/audit')],
  },
  operator_break_glass: {
    word: 'Emergency',
    sentence: (row) => (
      <>An operator signed in without the identity provider, {ago(row.since, slowNow().value)}.</>
    ),
    link: () => ['Open', href('/console/audit')],
  },
  server_errors: {
    word: 'Errors',
    sentence: (row) => (
      <>
        <b>{percent(fact(row, 'failed') / Math.max(1, fact(row, 'total')))}</b> of the responses in
        the last 15 minutes are 5xx ({number(fact(row, 'failed'))}), the last{' '}
        {ago(textFact(row, 'last_at') ?? row.since, slowNow().value)}. {textFact(row, 'cause')}
      </>
    ),
    link: () => ['Why', href('/console/requests', { status: '5xx', range: '15m' })],
  },
  event_held: {
    word: 'Held',
    sentence: (row) => (
      <>
        An event <b>{row.subject.label}</b> of a transaction does not fit its declaration:{' '}
        {textFact(row, 'problem')} Correct the declaration, or discard it:{' '}
        <code>{discardEventCommand(row.subject.id)}</code>
      </>
    ),
    link: (row) => ['Events', href('/console/events', { type: row.subject.label })],
  },
  restore_held: {
    word: 'Held',
    sentence: () => (
      <>
        The data was restored. Deliveries, jobs and mail are held until an administrator releases
        them.
      </>
    ),
    link: () => ['Open', href('/console/system')],
    remedy: { label: 'Release', path: '/admin/restore/release', done: 'Released' },
  },
  revocations_unknown: {
    word: 'Unknown',
    sentence: (row) => (
      <>
        The data was restored, so revocations after <b>{day(row.since)}</b> are unknown. Apply them
        with <code>{restoreRevocationsCommand}</code>, or confirm that none is missing.
      </>
    ),
    link: () => ['Open', href('/console/audit')],
    remedy: { label: 'Confirm', path: '/admin/restore/confirm', done: 'Confirmed' },
  },
  ...NODE_NOTICES,
  ...JOB_NOTICES,
  attention_unknown: {
    word: 'Not known',
    sentence: (row) => (
      <>The database does not answer in time, so this list lacks: {listFact(row, 'unknown')}.</>
    ),
    link: () => ['Open', href('/console/system')],
  },
  lock_held: {
    word: 'Locked',
    sentence: (row) => (
      <>
        {row.subject.type === 'process' ? 'Process' : 'Session'} <b>{row.subject.label}</b> has
        locked {listFact(row, 'tables') || 'rows'} for {sinceOf(row)}, and{' '}
        <b>{count(fact(row, 'waiting'), 'statement')}</b> wait. {lockRemedy(row)}
      </>
    ),
    link: () => ['Requests', href('/console/requests', { status: '5xx', range: '15m' })],
  },
  database_full: {
    word: 'Full',
    sentence: (row) => (
      <>
        {CONNECTION_OWNERS[textFact(row, 'of') ?? 'server']} has{' '}
        {count(fact(row, 'used'), 'connection')} of {number(fact(row, 'limit'))} in use,{' '}
        {number(fact(row, 'of_application'))} by{' '}
        <b>{textFact(row, 'application') || 'a program without a name'}</b>. A node that starts
        waits for one. {textFact(row, 'repair')}
      </>
    ),
    link: () => ['Open', href('/console/system')],
  },
  streams_held: {
    word: 'Streams wait',
    sentence: (row) => (
      <>
        A transaction of session <b>{row.subject.label}</b> is open for {sinceOf(row)}. Event
        streams wait for its end: SELECT pg_terminate_backend({fact(row, 'pid')})
      </>
    ),
    link: () => ['Open', href('/console/system')],
  },
  key_limited: {
    word: 'Limited',
    sentence: (row) => (
      <>
        {row.subject.type === 'client' ? 'Client' : 'Key'} <Label row={row} /> exceeds its request
        limit: <b>{count(fact(row, 'limited'), 'response')}</b> 429 in the last five minutes.
      </>
    ),
    link: (row) => [
      'Which',
      href('/console/requests', {
        ...scopeOf(row),
        ...callerOf(row.subject),
        status: '429',
        range: '1h',
      }),
    ],
  },
}

const DENIED = { status: '401,403', range: '1h' }
const callerOf = ({ type, id }: AttentionRow['subject']) =>
  type === 'client' ? { client: id } : { key: id }

const UNKNOWN: Words = {
  word: 'Notice',
  sentence: (row) => (
    <>
      {row.kind.replaceAll('_', ' ')}: <Label row={row} />
    </>
  ),
  link: () => ['Open', href('/console/system')],
}

export function Attention() {
  const list = attentionList.value
  // The stream reports changes; the list leaves out the notices that the operator put off.
  useStream(['attention'], {}, () => list?.reload())
  return (
    <section aria-labelledby="attention">
      <div class="bar">
        <h2 id="attention">Needs attention</h2>
        <span class="soft small">{list?.data && countOf(list.data.data.length)}</span>
      </div>
      {list && (
        <Part of={list} subject="notices">
          {({ data }) =>
            data.length > 0 && (
              <AttentionList items={data.slice(0, MAX_ROWS).map((row) => item(row, list))} />
            )
          }
        </Part>
      )}
    </section>
  )
}

const countOf = (length: number): string =>
  length === 0 ? 'nothing now' : `${length}, the most urgent first`

type AttentionBody = NonNullable<typeof attentionList.value>

async function remedy({ path, done }: NonNullable<Words['remedy']>, list: AttentionBody) {
  try {
    await send('POST', path)
    say(done)
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
    say(error.message)
  }
  list.reload()
}

/** Removes a notice at once; it appears again in a day, or if the server rejects the request. */
async function postpone(row: AttentionRow, list: AttentionBody): Promise<void> {
  const until = new Date(nowMs() + DAY_MS).toISOString()
  list.put({ data: (list.data?.data ?? []).filter(({ id }) => id !== row.id) })
  try {
    await send('PUT', `/admin/attention/${encodeURIComponent(row.id)}`, { body: { until } })
    say('It appears again in a day')
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
    say(error.message)
    list.reload()
  }
}

function item(row: AttentionRow, list: AttentionBody) {
  const words = KINDS[row.kind] ?? UNKNOWN
  const [label, url] = words.link(row)
  return {
    id: row.id,
    tone: TONES[row.severity],
    word: words.word,
    sentence: words.sentence(row),
    actions: (
      <>
        <Button size="tiny" href={url}>
          {label}
          <span class="vh">: {row.subject.label}</span>
        </Button>
        {words.remedy && mayChange('administrator') && (
          <Button size="tiny" onClick={() => remedy(words.remedy!, list)}>
            {words.remedy.label}
          </Button>
        )}
        {mayChange('support') && (
          <Button kind="quiet" size="tiny" onClick={() => postpone(row, list)}>
            Snooze a day<span class="vh">: {row.subject.label}</span>
          </Button>
        )}
      </>
    ),
  }
}
