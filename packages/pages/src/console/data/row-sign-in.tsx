/** The sign-in of a row that is a person: role, scopes, password, state, and its erasure. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { exportPersonCommand } from '../../commands.ts'
import { instant } from '../../format.ts'
import type { CursorPage } from '../../list-page.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { State } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import type { ScopeRow } from '../keys/key-shapes.ts'
import { mayChange } from '../session.ts'
import { type DataRow, type Resource, rowName } from './resource-shapes.ts'
import { RowSessions } from './row-sessions.tsx'

/** A row of `GET /admin/users`. */
interface Account {
  readonly id: number
  readonly role: string | null
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly last_sign_in_at: string | null
}

interface RowSignInProps {
  readonly resource: Resource
  readonly row: DataRow
}

type Operation = 'grants' | 'password' | 'disable' | 'enable' | 'erase'

export function RowSignIn({ resource, row }: RowSignInProps) {
  const accounts = useLoaded<CursorPage<Account>>(withQuery('/admin/users', { id: row.id }))
  const [operation, setOperation] = useState<Operation>()
  const account = accounts.data?.data[0]
  const [changes, setChanges] = useState(0)
  const name = rowName(resource, row)
  const shared = {
    id: row.id,
    name,
    onClose: () => setOperation(undefined),
    onDone: () => {
      accounts.reload()
      setChanges(changes + 1)
    },
  }
  return (
    <section aria-labelledby="sign-in">
      <div class="bar">
        <h2 id="sign-in">Sign-in</h2>
        {accounts.data && mayChange('administrator') && (
          <Operations account={account} onSelect={setOperation} />
        )}
      </div>
      <Part of={accounts} subject="the sign-in">
        {() => (account ? <Facts account={account} /> : <NoAccount />)}
      </Part>
      {account && <RowSessions key={changes} id={account.id} name={name} />}
      {operation === 'password' && <SetPassword {...shared} />}
      {account && operation === 'grants' && <ChangeGrants {...shared} account={account} />}
      {account && operation === 'disable' && <Disable {...shared} />}
      {account && operation === 'enable' && <Enable {...shared} />}
      {operation === 'erase' && <Erase {...shared} />}
    </section>
  )
}

const NoAccount = () => <p class="soft small">The row has no password, so it cannot sign in.</p>

const lastSignIn = ({ last_sign_in_at: at }: Account): string =>
  at === null ? 'none recorded' : instant(at)

const Facts = ({ account }: { readonly account: Account }) => (
  <dl class="kv">
    <dt>State</dt>
    <dd>
      {account.disabled ? (
        <State tone="hold">Disabled</State>
      ) : (
        <State tone="ok">Can sign in</State>
      )}
    </dd>
    <dt>Role</dt>
    <dd>{account.role ?? 'none'}</dd>
    <dt>Scopes</dt>
    <dd class="mono">{account.scopes.join(' ') || 'none'}</dd>
    <dt>Last sign-in</dt>
    <dd>{lastSignIn(account)}</dd>
  </dl>
)

interface OperationsProps {
  readonly account: Account | undefined
  readonly onSelect: (operation: Operation) => void
}

const Operations = ({ account, onSelect }: OperationsProps) => (
  <>
    {account && (
      <Button size="tiny" onClick={() => onSelect('grants')}>
        Role and scopes…
      </Button>
    )}
    <Button size="tiny" onClick={() => onSelect('password')}>
      Password…
    </Button>
    {account && !account.disabled && (
      <Button size="tiny" kind="danger" onClick={() => onSelect('disable')}>
        Disable…
      </Button>
    )}
    {account?.disabled && (
      <Button size="tiny" onClick={() => onSelect('enable')}>
        Enable…
      </Button>
    )}
    <Button size="tiny" kind="danger" onClick={() => onSelect('erase')}>
      Erase…
    </Button>
  </>
)

interface OperationProps {
  readonly id: DataRow['id']
  readonly name: string
  readonly onClose: () => void
  readonly onDone: () => void
}

const pathOf = ({ id }: Pick<OperationProps, 'id'>): string => `/admin/users/${id}`

const Disable = (props: OperationProps) => (
  <Confirm
    title={`Disable the sign-in of ${props.name}`}
    verb="Disable"
    isDangerous
    onClose={props.onClose}
    run={async () => {
      await send('PATCH', pathOf(props), { body: { disabled: true } })
      say(`${props.name} cannot sign in.`)
      props.onDone()
    }}
  >
    <p>The sessions of {props.name} end at once. The row stays, and you can enable it again.</p>
  </Confirm>
)

const Enable = (props: OperationProps) => (
  <Confirm
    title={`Enable the sign-in of ${props.name}`}
    verb="Enable"
    onClose={props.onClose}
    run={async () => {
      await send('PATCH', pathOf(props), { body: { disabled: false } })
      say(`${props.name} can sign in.`)
      props.onDone()
    }}
  >
    <p>{props.name} signs in with the same password, role and scopes as before.</p>
  </Confirm>
)

const Erase = (props: OperationProps) => (
  <Confirm
    title={`Erase ${props.name}`}
    verb="Erase"
    busyVerb="Erasing…"
    isDangerous
    typed={String(props.id)}
    onClose={props.onClose}
    run={async () => {
      await send('DELETE', pathOf(props))
      say(`${props.name} is being erased.`)
      props.onDone()
    }}
  >
    <p>
      The credential and the sessions end within 2 s. The sign-in name and the personal fields are
      then erased in the background, in rows, events, deliveries, mail and logs, for good; the rows
      stay. Export them first, if the person wants them:{' '}
      <code>{exportPersonCommand(String(props.id))}</code>
    </p>
  </Confirm>
)

function SetPassword(props: OperationProps) {
  const { name, onClose, onDone } = props
  const [password, setPassword] = useState('')
  const { isBusy, failure, messageOf, run } = useSend()
  const save = () =>
    run(async () => {
      await send('PUT', `${pathOf(props)}/password`, { body: { password } })
      say(`The password of ${name} is set.`)
      onDone()
      onClose()
    })
  return (
    <Dialog
      title={`Set the password of ${name}`}
      onClose={onClose}
      submit={{ verb: 'Set the password', busy: isBusy && 'Saving…', run: save }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Field
          label="New password"
          type="password"
          autocomplete="new-password"
          value={password}
          onInput={setPassword}
          error={messageOf('/password')}
          hint="The sessions of the person end."
          autofocus
        />
      </form>
      {failure && !messageOf('/password') && <Failed failure={failure} />}
    </Dialog>
  )
}

interface ChangeGrantsProps extends OperationProps {
  readonly account: Account
}

function ChangeGrants({ account, ...props }: ChangeGrantsProps) {
  const { name, onClose, onDone } = props
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set(account.scopes))
  const [role, setRole] = useState(account.role ?? '')
  const { isBusy, failure, messageOf, run } = useSend()
  const removed = account.scopes.filter((scope) => !selected.has(scope))
  const save = () =>
    run(async () => {
      const body = { role: role.trim() === '' ? null : role, scopes: [...selected] }
      await send('PATCH', pathOf(props), { body })
      say(`The scopes of ${name} are changed.`)
      onDone()
      onClose()
    })
  return (
    <Dialog
      title={`Role and scopes of ${name}`}
      isSheet
      onClose={onClose}
      submit={{ verb: 'Save', busy: isBusy && 'Saving…', run: save }}
    >
      <Field
        label="Role"
        value={role}
        onInput={setRole}
        error={messageOf('/role')}
        hint="A claim of access tokens, for the program of the service. Empty: none."
      />
      <Part of={scopes} subject="the scopes">
        {({ data }) => <ScopeMatrix scopes={data} selected={selected} onChange={setSelected} />}
      </Part>
      {removed.length > 0 && <p class="hint">Without {removed.join(', ')} its sessions end.</p>}
      {failure && !messageOf('/role') && <Failed failure={failure} />}
    </Dialog>
  )
}
