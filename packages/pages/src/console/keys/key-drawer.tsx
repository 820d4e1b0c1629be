/** One key: its facts, its use, and the operations on it. */
import { type Query, send, withQuery } from '../../api.ts'
import { nowMs, slowNow } from '../../clock.ts'
import { ago, count, instant, number } from '../../format.ts'
import { whoText } from '../../lists/row-value.ts'
import { useLoaded } from '../../loaded.ts'
import { USUAL_OVERLAP } from '../../overlaps.ts'
import { Notice, Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { href } from '../../router.ts'
import type { KeyUsage } from '../admin-types.ts'
import type { Page } from '../api-shapes.ts'
import type { AuditRow } from '../audit/audit-shapes.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts, recentRequests } from '../object-facts.tsx'
import { formOf } from '../operation-forms.tsx'
import { confirmation, RowDrawer, type RowOperation } from '../row-drawer.tsx'
import { isInUse, type KeyRow, type NewKey, stateOf } from './key-shapes.ts'

export const KeyDrawer = (props: OpenRow) => (
  <RowDrawer<Page<KeyRow>, KeyRow>
    {...props}
    path={withQuery('/admin/keys', { id: props.id, revoked: 'any', limit: 1 })}
    noun="key"
    rowOf={({ data }) => data[0]}
    nameOf={({ name }) => name}
    facts={KeyFacts}
    operations={operations}
    more={({ id }) => <Usage id={id} />}
  />
)

function KeyFacts({ row }: { readonly row: KeyRow }) {
  const [tone, words] = stateOf(row, slowNow().value)
  const scope: Query = { customer: row.customer, mode: row.mode === 'test' ? 'test' : undefined }
  return (
    <ObjectFacts
      of="ListedApiKey"
      noun="key"
      row={row}
      omit={['name']}
      cells={{
        state: () => <State tone={tone}>{words}</State>,
        revoked_at: ({ id, revoked_at: at }) => at && <Revocation id={id} at={at} />,
      }}
      more={[recentRequests({ ...scope, key: row.id })]}
    />
  )
}

/** The instant of the revocation, and the operator or key that the audit trail names. */
function Revocation({ id, at }: { readonly id: string; readonly at: string }) {
  const filter = { action: 'key.revoke', target: id }
  const audit = useLoaded<Page<AuditRow>>(withQuery('/admin/audit', { ...filter, limit: 1 }))
  const row = audit.data?.data[0]
  return (
    <>
      {instant(at)}
      {row && (
        <>
          {', by '}
          <a href={href('/console/audit', { act: filter.action, target: id })}>
            {whoText(row.principal)}
          </a>
        </>
      )}
    </>
  )
}

function Usage({ id }: { readonly id: string }) {
  const usage = useLoaded<KeyUsage>(`/admin/keys/${id}/usage?days=30`)
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Use in 30 days</h2>
      <Part of={usage} subject="the use of the key">
        {({ routes, addresses, refusals }) =>
          routes.length === 0 ? (
            <p class="soft small">No request in the stored history.</p>
          ) : (
            <>
              <Table
                caption="Requests by route"
                rows={routes}
                rowKey={({ method, route }) => `${method} ${route}`}
                columns={[
                  {
                    name: 'route',
                    label: 'Route',
                    isMain: true,
                    cell: ({ method, route }) => (
                      <code>
                        {method} {route}
                      </code>
                    ),
                  },
                  {
                    name: 'count',
                    label: 'Requests',
                    align: 'end',
                    cell: ({ count }) => number(count),
                  },
                ]}
              />
              <p class="soft small">
                From {addresses.map(({ address }) => address).join(', ') || 'no address'};{' '}
                {count(
                  refusals.reduce((sum, row) => sum + row.count, 0),
                  'request',
                )}{' '}
                with 401 or 403.
              </p>
            </>
          )
        }
      </Part>
    </section>
  )
}

/** Replaces the secret; the new one appears once. */
const Roll = formOf<KeyRow, NewKey>((row) => ({
  operation: 'roll_key',
  path: `/admin/keys/${row.id}/roll`,
  title: `Roll ${row.name}`,
  verb: 'Roll the key',
  busyVerb: 'Rolling…',
  words: { overlap_seconds: { label: `The old secret, ${row.hint}` } },
  values: USUAL_OVERLAP,
  above: <p>The key gets a new secret. Its id, name and scopes stay.</p>,
  secret: ({ key }, { overlap_seconds: overlapS }) => ({
    title: `${row.name} has a new secret`,
    label: 'Key',
    value: key,
    hint: 'Only this dialog displays the key.',
    children: (
      <p class="soft small">
        {overlapS === 0
          ? `The old secret ${row.hint} is revoked.`
          : `The old secret ${row.hint} stays valid until ${instantIn(Number(overlapS))}.`}
      </p>
    ),
  }),
}))

const instantIn = (seconds: number): string =>
  instant(new Date(nowMs() + seconds * 1000).toISOString())

type UsedScope = KeyUsage['scopes'][number]

const usedScopeWords = ({ scope, count: uses }: UsedScope): string =>
  `${scope} in ${count(uses, 'request')}`

const Change = formOf<KeyRow>((row) => ({
  operation: 'update_key',
  path: `/admin/keys/${row.id}`,
  row,
  title: `Change ${row.name}`,
  words: {
    name: {},
    scopes: { permits: (scope) => !isInstallationScope(scope) || row.scopes.includes(scope) },
    cidrs: {},
    expires_at: { label: 'Expires on (UTC)', hint: 'Empty: never.' },
  },
  below: ({ draft }) => <ScopeChanges row={row} selected={draft.scopes as ReadonlySet<string>} />,
  said: `${row.name} is changed. Every node applies it within 2 s.`,
}))

interface ScopeChangesProps {
  readonly row: KeyRow
  readonly selected: ReadonlySet<string>
}

/** The scopes that the form adds and removes, and the use of those that it removes. */
function ScopeChanges({ row, selected }: ScopeChangesProps) {
  const added = [...selected].filter((scope) => !row.scopes.includes(scope))
  const removed = row.scopes.filter((scope) => !selected.has(scope))
  const usage = useLoaded<KeyUsage>(`/admin/keys/${row.id}/usage?days=30`)
  const used = (usage.data?.scopes ?? []).filter(({ scope }) => removed.includes(scope))
  return (
    <>
      {(added.length > 0 || removed.length > 0) && (
        <p class="small" role="status">
          {added.length > 0 && <>Adds {added.join(', ')}. </>}
          {removed.length > 0 && <>Removes {removed.join(', ')}.</>}
        </p>
      )}
      {used.length > 0 && (
        <Notice tone="warn" word="In use">
          The key used {used.map(usedScopeWords).join(', ')} of the last 30 days. Such requests get
          403 within 2 s.
        </Notice>
      )}
    </>
  )
}

const Revoke = confirmation<KeyRow>((row) => {
  const isUsed = isInUse(row, slowNow().value)
  return {
    title: `Revoke ${row.name}`,
    verb: 'Revoke the key',
    busyVerb: 'Revoking…',
    isDangerous: true,
    typed: isUsed ? row.name : undefined,
    request: () => send('DELETE', `/admin/keys/${row.id}`),
    done: `${row.name} is revoked.`,
    isEnd: true,
    text:
      'Requests with this key get 403 within 2 s. A revoked key cannot be restored.' +
      (isUsed ? ` It was used ${ago(row.last_used_at!, slowNow().value)}.` : ''),
  }
})

const isCurrent = ({ revoked_at: at }: KeyRow): boolean => at === null

const operations: readonly RowOperation<KeyRow>[] = [
  { verb: 'Change', role: 'support', fits: isCurrent, dialog: Change },
  { verb: 'Roll', role: 'support', fits: isCurrent, dialog: Roll },
  { verb: 'Revoke', role: 'support', fits: isCurrent, isDangerous: true, dialog: Revoke },
]
