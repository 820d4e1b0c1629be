/** One key: its facts, its use, and the operations on it. */
import { useState } from 'preact/hooks'
import { type Query, send, withQuery } from '../../api.ts'
import { nowMs, slowNow } from '../../clock.ts'
import { ago, count, day, instant, number } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { OVERLAPS } from '../../overlaps.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Field } from '../../parts/field.tsx'
import { Empty, Failed, Notice, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Id, State } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import type { KeyUsage } from '../admin-types.ts'
import type { Page } from '../api-shapes.ts'
import { type AuditRow, nameOf } from '../audit/audit-shapes.ts'
import { customerName } from '../customer-names.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import { mayChange } from '../session.ts'
import { isInUse, type KeyRow, type NewKey, type ScopeRow, stateOf } from './key-shapes.ts'

interface KeyDrawerProps {
  readonly id: string
  readonly closeHref: string
  /** Runs after a change, so that the list loads again. */
  readonly onChange: () => void
}

type Operation = 'roll' | 'change' | 'revoke'

export function KeyDrawer({ id, closeHref, onChange }: KeyDrawerProps) {
  const path = withQuery('/admin/keys', { id, revoked: 'any', limit: 1 })
  const key = useLoaded<Page<KeyRow>>(path)
  const [operation, setOperation] = useState<Operation>()
  const close = () => setOperation(undefined)
  const reload = () => {
    key.reload()
    onChange()
  }
  const row = key.data?.data[0]
  return (
    <Drawer title={row?.name ?? <span class="mono">{id}</span>} closeHref={closeHref}>
      <Part of={key} subject="the key">
        {() =>
          row ? (
            <>
              <Facts row={row} />
              {mayChange('support') && row.revoked_at === null && (
                <div class="bar">
                  <Button size="tiny" onClick={() => setOperation('change')}>
                    Change…
                  </Button>
                  <Button size="tiny" onClick={() => setOperation('roll')}>
                    Roll…
                  </Button>
                  <Button size="tiny" kind="danger" onClick={() => setOperation('revoke')}>
                    Revoke…
                  </Button>
                </div>
              )}
              <Usage id={row.id} />
            </>
          ) : (
            <Empty title="No key has this id" />
          )
        }
      </Part>
      <CallLine path={path} />
      {row && operation === 'roll' && <Roll row={row} onClose={close} onDone={reload} />}
      {row && operation === 'change' && <Change row={row} onClose={close} onDone={reload} />}
      {row && operation === 'revoke' && (
        <Revoke
          row={row}
          onClose={close}
          onDone={() => {
            onChange()
            go(closeHref)
          }}
        />
      )}
    </Drawer>
  )
}

function Facts({ row }: { readonly row: KeyRow }) {
  const { tone, words } = stateOf(row, slowNow().value)
  const scope: Query = { customer: row.customer, mode: row.mode === 'test' ? 'test' : undefined }
  return (
    <dl class="kv">
      <dt>State</dt>
      <dd>
        <State tone={tone}>{words}</State>
      </dd>
      <dt>Id</dt>
      <dd>
        <Id id={row.id} subject="key id" />
      </dd>
      <dt>Key</dt>
      <dd>
        <code>{row.hint}</code>
      </dd>
      <dt>Customer</dt>
      <dd>
        <a href={href(`/console/customers/${row.customer}`)}>{customerName(row.customer)}</a>,{' '}
        {row.mode}
      </dd>
      <dt>Scopes</dt>
      <dd class="mono">{row.scopes.join(' ') || 'none'}</dd>
      <dt>Version</dt>
      <dd>{row.api_version ?? 'not pinned'}</dd>
      <dt>Addresses</dt>
      <dd class="mono">{row.cidrs.join(' ') || 'every address'}</dd>
      <dt>Expires</dt>
      <dd>{row.expires_at === null ? 'never' : instant(row.expires_at)}</dd>
      {row.overlap_ends_at && (
        <>
          <dt>Old secret</dt>
          <dd>valid until {instant(row.overlap_ends_at)}</dd>
        </>
      )}
      {row.revoked_at !== null && <Revocation id={row.id} at={row.revoked_at} />}
      <dt>Created</dt>
      <dd>{instant(row.created_at)}</dd>
      <dt>Last used</dt>
      <dd>{row.last_used_at === null ? 'never' : ago(row.last_used_at, slowNow().value)}</dd>
      <dt>Requests</dt>
      <dd>
        <a href={href('/console/requests', { ...scope, key: row.id, range: '24h' })}>
          the last 24 hours
        </a>
      </dd>
    </dl>
  )
}

/** The instant of the revocation, and the operator or key that the audit trail names. */
function Revocation({ id, at }: { readonly id: string; readonly at: string }) {
  const filter = { action: 'key.revoke', target: id }
  const audit = useLoaded<Page<AuditRow>>(withQuery('/admin/audit', { ...filter, limit: 1 }))
  const row = audit.data?.data[0]
  return (
    <>
      <dt>Revoked</dt>
      <dd>
        {instant(at)}
        {row && (
          <>
            {', by '}
            <a href={href('/console/audit', { act: filter.action, target: id })}>{nameOf(row)}</a>
          </>
        )}
      </dd>
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

interface OperationProps {
  readonly row: KeyRow
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Replaces the secret; the new one appears once. */
function Roll({ row, onClose, onDone }: OperationProps) {
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

function Change({ row, onClose, onDone }: OperationProps) {
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

function Revoke({ row, onClose, onDone }: OperationProps) {
  const isUsed = isInUse(row, slowNow().value)
  return (
    <Confirm
      title={`Revoke ${row.name}`}
      verb="Revoke the key"
      busyVerb="Revoking…"
      isDangerous
      typed={isUsed ? row.name : undefined}
      onClose={onClose}
      run={async () => {
        await send('DELETE', `/admin/keys/${row.id}`)
        say(`${row.name} is revoked.`)
        onDone()
      }}
    >
      <p>
        Requests with this key get 403 within 2 s. A revoked key cannot be restored.
        {isUsed && ` It was used ${ago(row.last_used_at!, slowNow().value)}.`}
      </p>
    </Confirm>
  )
}
