/** The sign-in of a row that is a person: role, scopes, password, state, and its erasure. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { exportPersonCommand } from '../../commands.ts'
import { instant } from '../../format.ts'
import type { CursorPage } from '../../list-page.ts'
import { useLoaded } from '../../loaded.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { State } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import type { ScopeRow } from '../keys/key-shapes.ts'
import {
  confirmation,
  type OperationProps,
  type RowOperation,
  useOperations,
} from '../row-drawer.tsx'
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

/** A row that is, or can become, an account. */
interface Person {
  readonly id: DataRow['id']
  readonly name: string
  readonly account: Account | undefined
}

export function RowSignIn({ resource, row }: RowSignInProps) {
  const accounts = useLoaded<CursorPage<Account>>(withQuery('/admin/users', { id: row.id }))
  const [changes, setChanges] = useState(0)
  const account = accounts.data?.data[0]
  const name = rowName(resource, row)
  const onDone = () => {
    accounts.reload()
    setChanges(changes + 1)
  }
  const person = accounts.data && { id: row.id, name, account }
  const { buttons, dialog } = useOperations(operations, person, { onDone, onEnd: onDone })
  return (
    <section aria-labelledby="sign-in">
      <h2 id="sign-in">Sign-in</h2>
      {buttons}
      <Part of={accounts} subject="the sign-in">
        {() =>
          account ? (
            <AccountFacts account={account} />
          ) : (
            <p class="soft small">The row has no password, so it cannot sign in.</p>
          )
        }
      </Part>
      {account && <RowSessions key={changes} id={account.id} name={name} />}
      {dialog}
    </section>
  )
}

const AccountFacts = ({ account }: { readonly account: Account }) => (
  <Facts
    of={[
      [
        'State',
        account.disabled ? (
          <State tone="hold">Disabled</State>
        ) : (
          <State tone="ok">Can sign in</State>
        ),
      ],
      ['Role', account.role ?? 'none'],
      ['Scopes', account.scopes.join(' ') || 'none', 'mono'],
      [
        'Last sign-in',
        account.last_sign_in_at === null ? 'none recorded' : instant(account.last_sign_in_at),
      ],
    ]}
  />
)

const pathOf = ({ id }: Person): string => `/admin/users/${id}`

const Disable = confirmation<Person>((person) => ({
  title: `Disable the sign-in of ${person.name}`,
  verb: 'Disable',
  isDangerous: true,
  request: () => send('PATCH', pathOf(person), { body: { disabled: true } }),
  done: `${person.name} cannot sign in.`,
  text: `The sessions of ${person.name} end at once. The row stays, and you can enable it again.`,
}))

const Enable = confirmation<Person>((person) => ({
  title: `Enable the sign-in of ${person.name}`,
  verb: 'Enable',
  request: () => send('PATCH', pathOf(person), { body: { disabled: false } }),
  done: `${person.name} can sign in.`,
  text: `${person.name} signs in with the same password, role and scopes as before.`,
}))

const Erase = confirmation<Person>((person) => ({
  title: `Erase ${person.name}`,
  verb: 'Erase',
  busyVerb: 'Erasing…',
  isDangerous: true,
  typed: String(person.id),
  request: () => send('DELETE', pathOf(person)),
  done: `${person.name} is being erased.`,
  text: (
    <>
      The credential and the sessions end within 2 s. The sign-in name and the personal fields are
      then erased in the background, in rows, events, deliveries, mail and logs, for good; the rows
      stay. Export them first, if the person wants them:{' '}
      <code>{exportPersonCommand(String(person.id))}</code>
    </>
  ),
}))

function SetPassword({ row: person, onClose, onDone }: OperationProps<Person>) {
  const { name } = person
  const [password, setPassword] = useState('')
  const { isBusy, failure, messageOf, run } = useSend()
  const save = () =>
    run(async () => {
      await send('PUT', `${pathOf(person)}/password`, { body: { password } })
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
      <Form onSubmit={save}>
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
      </Form>
      {failure && !messageOf('/password') && <Failed failure={failure} />}
    </Dialog>
  )
}

function ChangeGrants({ row: person, onClose, onDone }: OperationProps<Person>) {
  const { name } = person
  const account = person.account!
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set(account.scopes))
  const [role, setRole] = useState(account.role ?? '')
  const { isBusy, failure, messageOf, run } = useSend()
  const removed = account.scopes.filter((scope) => !selected.has(scope))
  const save = () =>
    run(async () => {
      const body = { role: role.trim() === '' ? null : role, scopes: [...selected] }
      await send('PATCH', pathOf(person), { body })
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

const role = 'administrator'
const isEnabled = ({ account }: Person): boolean => account?.disabled === false
const isDisabled = ({ account }: Person): boolean => account?.disabled === true

const operations: readonly RowOperation<Person>[] = [
  {
    verb: 'Role and scopes',
    role,
    fits: ({ account }) => account !== undefined,
    dialog: ChangeGrants,
  },
  { verb: 'Password', role, dialog: SetPassword },
  { verb: 'Disable', role, fits: isEnabled, isDangerous: true, dialog: Disable },
  { verb: 'Enable', role, fits: isDisabled, dialog: Enable },
  { verb: 'Erase', role, isDangerous: true, dialog: Erase },
]
