/** The operations on an operator, a dialog each. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import type { ConsoleLink } from '../admin-types.ts'
import { formOf } from '../operation-forms.tsx'
import { confirmation, type OperationProps, type RowOperation } from '../row-drawer.tsx'
import type { OperatorRow } from './operator-shapes.ts'

const pathOf = ({ id }: OperatorRow, suffix = ''): string => `/admin/operators/${id}${suffix}`

const patch = (row: OperatorRow, disabled: boolean) =>
  send('PATCH', pathOf(row), { body: { disabled } })

const ChangeRole = formOf<OperatorRow, OperatorRow>((row) => ({
  operation: 'update_operator',
  path: pathOf(row),
  row,
  title: `Role of ${row.email}`,
  omit: ['disabled'],
  words: { role: { hint: 'Open sessions have it at once.' } },
  said: ({ role }) => `${row.email} has the role ${role}.`,
}))

/** Creates a link, and displays it once. */
function CreateLink({ row, onClose, onDone }: OperationProps<OperatorRow>) {
  const [link, setLink] = useState<ConsoleLink>()
  const { isBusy, failure, run } = useSend()
  const create = () =>
    run(async () => {
      setLink((await send<ConsoleLink>('POST', pathOf(row, '/link'))).body)
      onDone()
    })
  const mail = () =>
    run(async () => {
      await send('POST', pathOf(row, '/invitation'))
      say(`A mail with a link goes to ${row.email}.`)
      onDone()
      onClose()
    })
  if (link) {
    return (
      <SecretDialog
        title={`A link for ${row.email}`}
        label="Link"
        value={link.url}
        hint={`It opens the console once, until ${instant(link.expires_at)}.`}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog
      title={`Create a link for ${row.email}`}
      onClose={onClose}
      submit={{ verb: 'Create the link', busy: isBusy && 'Creating…', run: create }}
    >
      <p>
        The link opens the console as {row.email}, once, without a password or second factor. It is
        valid for 30 minutes. Send it to this operator only.
      </p>
      <Button onClick={mail}>Mail it</Button>
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

const ResetFactor = confirmation<OperatorRow>((row) => ({
  title: `Remove the second factor of ${row.email}`,
  verb: 'Remove',
  isDangerous: true,
  request: () => send('DELETE', pathOf(row, '/second-factor')),
  done: `${row.email} enrols a second factor at the next sign-in.`,
  text: 'For a lost device. The sessions end, and the next sign-in enrols another second factor.',
}))

type Kind = 'key' | 'client' | 'operator' | 'person' | 'issuer' | 'webhook'

interface Credential {
  readonly kind: Kind
  readonly id: string
  readonly name: string
}

/** The pages of creations, by kind. */
const PAGES: Partial<Record<Kind, string>> = {
  key: 'keys',
  client: 'clients',
  issuer: 'issuers',
  operator: 'operators',
  webhook: 'webhooks',
}

/** The page of operators has no path for one of them. */
const hrefOf = (kind: Kind, id: string): string =>
  href(PAGES[kind] === 'operators' ? '/console/operators' : `/console/${PAGES[kind]}/${id}`)

/** The creations of the operator outlive the account. */
function Credentials({ row }: Pick<OperationProps<OperatorRow>, 'row'>) {
  const loaded = useLoaded<{ readonly data: readonly Credential[] }>(pathOf(row, '/credentials'))
  return (
    <Part of={loaded} subject="credentials">
      {({ data }) =>
        data.length === 0 ? (
          <p>Nothing that {row.email} created gives access.</p>
        ) : (
          <>
            <p>{row.email} created these. They give access until you end them:</p>
            <ul>
              {data.map(({ kind, id, name }) => (
                <li key={id}>
                  {kind} {PAGES[kind] ? <a href={hrefOf(kind, id)}>{name}</a> : name}{' '}
                  <code>{id}</code>
                </li>
              ))}
            </ul>
          </>
        )
      }
    </Part>
  )
}

const Disable = confirmation<OperatorRow>((row) => ({
  title: `Disable ${row.email}`,
  verb: 'Disable',
  isDangerous: true,
  request: () => patch(row, true),
  done: `${row.email} is disabled.`,
  text: `The sessions and links of ${row.email} end at once. You can enable the operator again.`,
  more: <Credentials row={row} />,
}))

const Enable = confirmation<OperatorRow>((row) => ({
  title: `Enable ${row.email}`,
  verb: 'Enable',
  request: () => patch(row, false),
  done: `${row.email} can sign in.`,
  text: `${row.email} signs in with the same password and the role ${row.role}.`,
}))

const role = 'administrator'
const isEnabled = ({ disabled }: OperatorRow): boolean => !disabled

export const operations: readonly RowOperation<OperatorRow>[] = [
  { verb: 'Role', role, dialog: ChangeRole },
  { verb: 'Link', role, fits: isEnabled, dialog: CreateLink },
  { verb: 'Second factor', role, dialog: ResetFactor },
  { verb: 'Enable', role, fits: (row) => row.disabled, dialog: Enable },
  { verb: 'Disable', role, fits: isEnabled, isDangerous: true, dialog: Disable },
]
