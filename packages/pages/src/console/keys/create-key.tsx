/** The sheet that creates a key and displays it once. */
import { useEffect, useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { every, nowMs } from '../../clock.ts'
import { timeOfDay } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Check, Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed, Notice, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Segments } from '../../parts/segments.tsx'
import { State } from '../../parts/state.tsx'
import { useSend } from '../../use-send.ts'
import { customerName, customerOptions, DEFAULT_CUSTOMER } from '../customer-names.ts'
import { installationScopes, isInstallationScope } from '../installation-scopes.ts'
import { customer as scopeCustomer, mode as scopeMode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { useKeyProbePath, useVersions } from '../versions.ts'
import type { KeyRow, NewKey, ScopeRow } from './key-shapes.ts'

interface CreateKeyProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

const DAY_MS = 86_400_000
const LIFETIMES = [
  ['365', 'In 1 year'],
  ['90', 'In 90 days'],
  ['', 'Never'],
] as const

export function CreateKey({ onClose, onCreate }: CreateKeyProps) {
  const [created, setCreated] = useState<NewKey>()
  const [isStored, setStored] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const mayClose = () => {
    if (!created || isStored) return true
    setAsking(true)
    return false
  }
  return (
    <Dialog
      title={created ? created.name : 'Create a key'}
      onClose={onClose}
      mayClose={mayClose}
      isSheet
    >
      {isAsking && !isStored && (
        <Notice
          tone="warn"
          word="Not stored"
          role="alert"
          actions={
            <Button size="tiny" kind="danger" onClick={onClose}>
              Close anyway
            </Button>
          }
        >
          The server cannot display this key again. Store it first.
        </Notice>
      )}
      {created ? (
        <NewKeyView created={created} isStored={isStored} onStore={setStored} onClose={onClose} />
      ) : (
        <KeyForm
          onCreate={(key) => {
            setCreated(key)
            onCreate()
          }}
        />
      )}
    </Dialog>
  )
}

function KeyForm({ onCreate }: { readonly onCreate: (key: NewKey) => void }) {
  const versions = useVersions()
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [name, setName] = useState('')
  const [owner, setOwner] = useState(scopeCustomer.value ?? DEFAULT_CUSTOMER)
  const [mode, setMode] = useState<'live' | 'test'>(scopeMode.value)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [days, setDays] = useState<string>('365')
  const [version, setVersion] = useState('')
  const [addresses, setAddresses] = useState('')
  const { isBusy, failure, messageOf, run } = useSend()
  const mayAdmin = owner === DEFAULT_CUSTOMER && mode === 'live' && mayChange('administrator')
  const submit = () =>
    run(async () => {
      const chosen = [...selected].filter((scope) => !isInstallationScope(scope) || mayAdmin)
      const cidrs = addresses.split(/[\s,]+/).filter(Boolean)
      const expiry = days && new Date(nowMs() + Number(days) * DAY_MS).toISOString()
      const body = {
        name,
        customer: owner,
        mode,
        scopes: chosen,
        ...(expiry && { expires_at: expiry }),
        ...(version && { api_version: version }),
        ...(cidrs.length > 0 && { cidrs }),
      }
      onCreate((await send<NewKey>('POST', '/admin/keys', { body })).body)
    })
  const isFieldError = ['/name', '/customer', '/scopes', '/cidrs', '/expires_at'].some(messageOf)
  return (
    <Form onSubmit={submit}>
      {failure && !isFieldError && <Failed failure={failure} />}
      <Field
        label="Name"
        value={name}
        onInput={setName}
        hint="The program and the place where it stores the key."
        error={messageOf('/name')}
        maxLength={100}
        autofocus
        required
      />
      <Field
        label="Customer"
        value={owner}
        onInput={setOwner}
        options={customerOptions(owner)}
        error={messageOf('/customer')}
      />
      <div class="field">
        <p class="label">Mode</p>
        <Segments
          label="Mode"
          value={mode}
          options={[
            ['live', 'Live'],
            ['test', 'Test'],
          ]}
          onChange={setMode}
        />
      </div>
      <Part of={scopes} subject="scopes">
        {({ data }) => (
          <ScopeMatrix
            scopes={data.filter(({ name: scope }) => !isInstallationScope(scope))}
            selected={selected}
            onChange={setSelected}
          />
        )}
      </Part>
      {mayAdmin &&
        installationScopes.map(([scope, meaning]) => (
          <Check
            key={scope}
            checked={selected.has(scope)}
            onChange={(isOn) => setSelected(toggleValue(selected, scope, isOn))}
            label={
              <>
                <code>{scope}</code> <span class="soft">{meaning}</span>
              </>
            }
          />
        ))}
      {messageOf('/scopes') && <p class="err">{messageOf('/scopes')}</p>}
      <Field
        label="Expires"
        value={days}
        onInput={setDays}
        options={LIFETIMES}
        error={messageOf('/expires_at')}
      />
      <Field
        label="Version"
        value={version}
        onInput={setVersion}
        options={[
          ['', 'Not pinned'],
          ...versions.map((row) => [row.version, row.version] as const),
        ]}
      />
      <Field
        label="Addresses"
        value={addresses}
        onInput={setAddresses}
        hint="Addresses or ranges that may use the key. Empty: every address."
        placeholder="203.0.113.0/24"
        error={messageOf('/cidrs')}
      />
      <Button kind="first" type="submit" busy={isBusy && 'Creating…'}>
        Create the key
      </Button>
    </Form>
  )
}

const toggleValue = (set: ReadonlySet<string>, value: string, isOn: boolean): Set<string> => {
  const next = new Set(set)
  if (isOn) next.add(value)
  else next.delete(value)
  return next
}

interface NewKeyViewProps {
  readonly created: NewKey
  readonly isStored: boolean
  readonly onStore: (isStored: boolean) => void
  readonly onClose: () => void
}

function NewKeyView({ created, isStored, onStore, onClose }: NewKeyViewProps) {
  const path = useKeyProbePath()
  const command = (key: string) => `curl -H "X-API-Key: ${key}" "${location.origin}${path}"`
  const { key } = created
  return (
    <>
      <Secret
        label="Key"
        value={key}
        hint="Only this page displays the key. The server stores its hash."
      />
      <p class="label">Try it</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls */}
      <pre tabIndex={0}>{command(created.hint)}</pre>
      <Copy text={command(key)} subject="command with the key" />
      <Facts
        of={[
          ['Customer', `${customerName(created.customer)}, ${created.mode}`],
          ['Scopes', created.scopes.join(' ') || 'none', 'mono'],
          [
            'First request',
            <span role="status">
              <FirstUse id={created.id} />
            </span>,
          ],
        ]}
      />
      <Check label="I have stored it" checked={isStored} onChange={onStore} />
      <Button kind="first" disabled={!isStored} onClick={onClose}>
        Done
      </Button>
    </>
  )
}

const POLL_MS = 3000

/** Waits for the first request that uses the key. */
function FirstUse({ id }: { readonly id: string }) {
  const path = withQuery(`/admin/keys/${id}`)
  const { data, reload } = useLoaded<KeyRow>(path)
  const at = data?.last_used_at
  useEffect(() => (at ? undefined : every(POLL_MS, reload)), [at, reload])
  if (!at) return <span class="soft">Not yet. This line changes with the first request.</span>
  return <State tone="ok">Arrived at {timeOfDay(at)} UTC</State>
}
