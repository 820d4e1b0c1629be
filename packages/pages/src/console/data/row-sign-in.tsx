/** The sign-in of a row that is a person: role, scopes, password, state, and its erasure. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { exportPersonCommand } from '../../commands.ts'
import type { CursorPage } from '../../list-page.ts'
import { useLoaded } from '../../loaded.ts'
import { Part } from '../../parts/notices.tsx'
import { ObjectFacts } from '../object-facts.tsx'
import { formOf } from '../operation-forms.tsx'
import { confirmation, type RowOperation, useOperations } from '../row-drawer.tsx'
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

/** Facts of the row. */
const OF_ROW = ['id', 'name', 'email', 'customer']

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
            <ObjectFacts of="Account" noun="person" row={account} omit={OF_ROW} />
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

const SetPassword = formOf<Person>((person) => ({
  operation: 'set_person_password',
  path: `${pathOf(person)}/password`,
  title: `Set the password of ${person.name}`,
  verb: 'Set the password',
  words: { password: { label: 'New password', hint: 'The sessions of the person end.' } },
  said: `The password of ${person.name} is set.`,
}))

const ChangeGrants = formOf<Person>((person) => ({
  operation: 'update_person',
  path: pathOf(person),
  row: person.account,
  title: `Role and scopes of ${person.name}`,
  isSheet: true,
  omit: ['disabled', 'identities'],
  words: {
    role: { hint: 'A claim of access tokens, for the program of the service. Empty: none.' },
    scopes: { permits: () => true },
  },
  below({ draft }) {
    const scopes = draft.scopes as ReadonlySet<string>
    const removed = person.account!.scopes.filter((scope) => !scopes.has(scope))
    return removed.length > 0 && <p class="hint">Without {removed.join(', ')} its sessions end.</p>
  },
  said: `The scopes of ${person.name} are changed.`,
}))

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
