/** One key: its facts, its use, and the operations on it. */
import { useState } from 'preact/hooks'
import { type Query, send, withQuery } from '../../api.ts'
import { nowMs, slowNow } from '../../clock.ts'
import { ago, count, day, instant, number } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { OVERLAPS } from '../../overlaps.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed, Notice, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Id, State } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import type { KeyUsage } from '../admin-types.ts'
import type { Page } from '../api-shapes.ts'
import { type AuditRow, nameOf } from '../audit/audit-shapes.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { OpenRow } from '../list-screen.tsx'
import {
  confirmation,
  OfCustomer,
  type OperationProps,
  RowDrawer,
  type RowOperation,
} from '../row-drawer.tsx'
import { isInUse, type KeyRow, type NewKey, type ScopeRow, stateOf } from './key-shapes.ts'

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
    <Facts
      of={[
        ['State', <State tone={tone}>{words}</State>],
        ['Id', <Id id={row.id} subject="key id" />],
        ['Key', <code>{row.hint}</code>],
        ['Customer', <OfCustomer {...row} />],
        ['Scopes', row.scopes.join(' ') || 'none', 'mono'],
        ['Version', row.api_version ?? 'not pinned'],
        ['Addresses', row.cidrs.join(' ') || 'every address', 'mono'],
        ['Expires', row.expires_at === null ? 'never' : instant(row.expires_at)],
        row.overlap_ends_at
          ? ['Old secret', `valid until ${instant(row.overlap_ends_at)}`]
          : undefined,
        row.revoked_at === null
          ? undefined
          : ['Revoked', <Revocation id={row.id} at={row.revoked_at} />],
        ['Created', instant(row.created_at)],
        ['Last used', row.last_used_at === null ? 'never' : ago(row.last_used_at, slowNow().value)],
        [
          'Requests',
          <a href={href('/console/requests', { ...scope, key: row.id, range: '24h' })}>
            the last 24 hours
          </a>,
        ],
      ]}
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
          <a href={href('/console/audit', { act: filter.action, target: id })}>{nameOf(row)}</a>
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
function Roll({ row, onClose, onDone }: OperationProps<KeyRow>) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[2][0])
  const [rolled, setRolled] = useState<{ readonly key: string; readonly oldEndsAt: string }>()
  // The row has the new hint afterwards.
  const [oldHint] = useState(row.hint)
  const { isBusy, failure, run } = useSend()
  const roll = () =>
    run(async () => {
      const body = { overlap_seconds: Number(overlap) }
      const { key } = (await send<NewKey>('POST', `/admin/keys/${row.id}/roll`, { body })).body
      const oldEndsAt = new Date(nowMs() + body.overlap_seconds * 1000).toISOString()
      setRolled({ key, oldEndsAt })
      onDone()
    })
  if (rolled) {
    return (
      <SecretDialog
        title={`${row.name} has a new secret`}
        label="Key"
        value={rolled.key}
        hint="Only this dialog displays the key."
        onClose={onClose}
      >
        <p class="soft small">
          {overlap === '0'
            ? `The old secret ${oldHint} is revoked.`
            : `The old secret ${oldHint} stays valid until ${instant(rolled.oldEndsAt)}.`}
        </p>
      </SecretDialog>
    )
  }
  return (
    <Dialog
      title={`Roll ${row.name}`}
      onClose={onClose}
      submit={{ verb: 'Roll the key', busy: isBusy && 'Rolling…', run: roll }}
    >
      <p>The key gets a new secret. Its id, name and scopes stay.</p>
      <Field
        label={`The old secret, ${oldHint}`}
        value={overlap}
        onInput={setOverlap}
        options={OVERLAPS}
      />
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

type UsedScope = KeyUsage['scopes'][number]

const usedScopeWords = ({ scope, count: uses }: UsedScope): string =>
  `${scope} in ${count(uses, 'request')}`

function Change({ row, onClose, onDone }: OperationProps<KeyRow>) {
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set(row.scopes))
  const [addresses, setAddresses] = useState(row.cidrs.join(' '))
  const [expiry, setExpiry] = useState(row.expires_at?.slice(0, 10) ?? '')
  const { isBusy, failure, messageOf, run } = useSend()
  const added = [...selected].filter((scope) => !row.scopes.includes(scope))
  const removed = row.scopes.filter((scope) => !selected.has(scope))
  const usage = useLoaded<KeyUsage>(`/admin/keys/${row.id}/usage?days=30`)
  const used = (usage.data?.scopes ?? []).filter(({ scope }) => removed.includes(scope))
  const save = () =>
    run(async () => {
      const cidrs = addresses.split(/[\s,]+/).filter(Boolean)
      const isNewExpiry = expiry !== (row.expires_at?.slice(0, 10) ?? '')
      const body = {
        scopes: [...selected],
        cidrs,
        ...(isNewExpiry && { expires_at: expiry === '' ? null : expiry }),
      }
      await send('PATCH', `/admin/keys/${row.id}`, { body })
      say(`${row.name} is changed. Every node applies it within 2 s.`)
      onDone()
      onClose()
    })
  return (
    <Dialog
      title={`Change ${row.name}`}
      onClose={onClose}
      submit={{ verb: 'Save', busy: isBusy && 'Saving…', run: save }}
    >
      <Part of={scopes} subject="scopes">
        {({ data }) => (
          <ScopeMatrix
            scopes={data.filter(
              ({ name }) => !isInstallationScope(name) || row.scopes.includes(name),
            )}
            selected={selected}
            onChange={setSelected}
          />
        )}
      </Part>
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
      {messageOf('/scopes') && <p class="err">{messageOf('/scopes')}</p>}
      <Field
        label="Addresses"
        value={addresses}
        onInput={setAddresses}
        hint="Empty: every address."
        error={messageOf('/cidrs')}
      />
      <Field
        label="Expires on (UTC)"
        value={expiry}
        onInput={setExpiry}
        hint={row.expires_at ? `Now ${day(row.expires_at)}. Empty: never.` : 'Empty: never.'}
        placeholder="2027-11-24"
        error={messageOf('/expires_at')}
      />
      {failure && !messageOf('/') && <Failed failure={failure} />}
    </Dialog>
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
