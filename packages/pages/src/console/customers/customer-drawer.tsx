/** One customer: its facts, the objects that belong to it, and the operations on it. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { exportCustomerCommand } from '../../commands.ts'
import { count, instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { Secret } from '../../parts/secret.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import type { Page, SeriesBody } from '../api-shapes.ts'
import { DEFAULT_CUSTOMER } from '../customer-names.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts } from '../object-facts.tsx'
import { formOf, type ScopeRow } from '../operation-forms.tsx'
import { confirmation, type OperationProps, RowDrawer, type RowOperation } from '../row-drawer.tsx'
import { mode } from '../scope.ts'
import type { CustomerRow } from './customer-shapes.ts'

export const CustomerDrawer = (props: OpenRow) => (
  <RowDrawer<CustomerRow, CustomerRow>
    {...props}
    path={`/admin/customers/${encodeURIComponent(props.id)}`}
    noun="customer"
    rowOf={(customer) => customer}
    nameOf={({ name }) => name}
    facts={CustomerFacts}
    operations={operations}
  />
)

/** The number of rows of a list, at most those of one page. */
function useCount(path: string): string | undefined {
  const { data } = useLoaded<Page<unknown>>(path)
  return data && `${data.data.length}${data.has_more ? ' or more' : ''}`
}

function CustomerFacts({ row }: { readonly row: CustomerRow }) {
  const words = `customer=${row.id}&mode=${mode.value}`
  const keys = useCount(`/admin/keys?${words}&limit=100`)
  const endpoints = useCount(`/admin/webhooks?${words}&limit=100`)
  const series = useLoaded<SeriesBody>(`/admin/series?metric=requests&${words}`)
  const scope = { customer: row.id }
  const requests = series.data?.totals.requests?.count
  return (
    <ObjectFacts
      of="Customer"
      noun="customer"
      row={row}
      omit={['name', 'deleted_rows']}
      more={[
        [`Keys, ${mode.value}`, <a href={href('/console/keys', scope)}>{keys ?? '…'}</a>],
        ['Endpoints', <a href={href('/console/webhooks', scope)}>{endpoints ?? '…'}</a>],
        ['Rows', <a href={href('/console/data', scope)}>of each resource</a>],
        [
          'Last hour',
          <a href={href('/console/requests', scope)}>
            {typeof requests === 'number' ? count(requests, 'request') : '…'}
          </a>,
        ],
      ]}
    />
  )
}

const patch = (row: CustomerRow, suspended: boolean) =>
  send('PATCH', `/admin/customers/${row.id}`, { body: { suspended } })

const Suspend = confirmation<CustomerRow>((row) => ({
  title: `Suspend ${row.name}`,
  verb: 'Suspend',
  busyVerb: 'Suspending…',
  isDangerous: true,
  typed: row.name,
  request: () => patch(row, true),
  done: `${row.name} is suspended.`,
  text:
    'Every request with a credential of this customer gets 403 within 2 s. Its deliveries wait. ' +
    'Nothing is deleted, and you can resume the customer.',
}))

const Resume = confirmation<CustomerRow>((row) => ({
  title: `Resume ${row.name}`,
  verb: 'Resume',
  request: () => patch(row, false),
  done: `${row.name} is active.`,
  text: 'Its credentials are valid again, and the deliveries that wait are sent.',
}))

const change = (row: CustomerRow) =>
  ({ operation: 'update_customer', path: `/admin/customers/${row.id}` }) as const

const NameAndContact = formOf<CustomerRow, CustomerRow>((row) => ({
  ...change(row),
  row,
  title: `Name and contact of ${row.name}`,
  omit: ['suspended', 'limits'],
  said: ({ name }) => `${name} is changed.`,
}))

const Limits = formOf<CustomerRow>((row) => ({
  ...change(row),
  row: row.limits,
  within: { member: 'limits', pointer: '/limits' },
  complete: (limits) => ({ limits }),
  title: `Limits of ${row.name}`,
  words: {
    rate_limit: { label: 'Requests of each credential' },
    total_rate_limit: { label: 'Requests of all credentials together' },
    delivery_rate: { label: 'Webhook deliveries' },
  },
  above: <p class="soft small">Number per seconds. Empty: the limit of the installation.</p>,
  said: `The limits of ${row.name} are changed.`,
}))

interface CreatedLink {
  readonly url: string
  readonly expires_at: string
}

const PORTAL_SCOPES = ['keys', 'webhooks', 'events']

/** Creates a one-time link to the portal of this customer. */
function PortalLink({ row, onClose }: OperationProps<CustomerRow>) {
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [selection, setSelected] = useState<ReadonlySet<string>>()
  const selected = selection ?? defaultScopes(scopes.data?.data ?? [])
  const [link, setLink] = useState<CreatedLink>()
  const { isBusy, failure, run } = useSend()
  const create = () =>
    run(async () => {
      const body = { customer: row.id, mode: mode.value, can: [...selected] }
      setLink((await send<CreatedLink>('POST', '/admin/portal-links', { body })).body)
    })
  return (
    <Dialog
      title={`Portal link for ${row.name}, ${mode.value}`}
      onClose={onClose}
      footer={
        link ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="first" busy={isBusy && 'Creating…'} onClick={create}>
              Create the link
            </Button>
          </>
        )
      }
    >
      {link ? (
        <Secret
          label="Link"
          value={link.url}
          hint={`It works once, until ${instant(link.expires_at)}.`}
        />
      ) : (
        <>
          <p class="soft small">
            The link opens the portal once, within 30 minutes. Its holder has these scopes, and sees
            only this customer in {mode.value} mode.
          </p>
          <Part of={scopes} subject="scopes">
            {({ data }) => (
              <ScopeMatrix
                scopes={data.filter(({ name }) => isPortalScope(name))}
                selected={selected}
                onChange={setSelected}
              />
            )}
          </Part>
        </>
      )}
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

/** An endpoint receives the events that the scopes of its session read. */
const defaultScopes = (scopes: readonly ScopeRow[]): ReadonlySet<string> =>
  new Set([
    ...['keys:read', 'webhooks:read', 'webhooks:write', 'events:read'],
    ...scopes.filter(({ kind }) => kind === 'read').map(({ name }) => name),
  ])

/** Scopes of resources let the holder create keys with them. */
const isPortalScope = (name: string): boolean => {
  const [collection, right] = name.split(':')
  if (isInstallationScope(name) || right === undefined) return false
  return PORTAL_SCOPES.includes(collection!) || right === 'read' || right === 'write'
}

const Delete = confirmation<CustomerRow>((row) => ({
  title: `Delete ${row.name}`,
  verb: 'Delete',
  busyVerb: 'Deleting…',
  isDangerous: true,
  typed: row.name,
  request: () => send('DELETE', `/admin/customers/${row.id}`),
  done: `${row.name} is being deleted.`,
  text: (
    <>
      Its credentials end within 2 s. Its rows, events, deliveries, people, keys and logs are then
      deleted in the background, in both modes, for good. Export them first, if the customer wants
      them: <code>{exportCustomerCommand(row.id)}</code>
    </>
  ),
}))

const isActive = (row: CustomerRow) => row.deleting_since === null

const operations: readonly RowOperation<CustomerRow>[] = [
  { verb: 'Portal link', role: 'support', fits: isActive, dialog: PortalLink },
  { verb: 'Name and contact', role: 'administrator', fits: isActive, dialog: NameAndContact },
  { verb: 'Limits', role: 'administrator', fits: isActive, dialog: Limits },
  {
    verb: 'Resume',
    role: 'administrator',
    fits: (row) => row.suspended && isActive(row),
    dialog: Resume,
  },
  {
    verb: 'Suspend',
    role: 'administrator',
    fits: (row) => !row.suspended && isActive(row) && row.id !== DEFAULT_CUSTOMER,
    isDangerous: true,
    dialog: Suspend,
  },
  {
    verb: 'Delete',
    role: 'administrator',
    fits: (row) => isActive(row) && row.id !== DEFAULT_CUSTOMER,
    isDangerous: true,
    dialog: Delete,
  },
]
