/** One OAuth client: its facts, the rotation of its secret, and its deletion. */
import { send } from '../../api.ts'
import { USUAL_OVERLAP } from '../../overlaps.ts'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts, recentRequests } from '../object-facts.tsx'
import { formOf } from '../operation-forms.tsx'
import { confirmation, RowDrawer, type RowOperation } from '../row-drawer.tsx'
import type { ClientRow, ClientWithSecret } from './client-shapes.ts'

export const ClientDrawer = (props: OpenRow) => (
  <RowDrawer<ClientRow, ClientRow>
    {...props}
    path={pathOf(props.id)}
    noun="client"
    rowOf={(client) => client}
    nameOf={({ name }) => name}
    facts={ClientFacts}
    operations={operations}
  />
)

const pathOf = (id: string): string => `/admin/clients/${encodeURIComponent(id)}`

const SOURCES: Readonly<Partial<Record<ClientRow['source'], string>>> = {
  registration: 'registered by itself: the name is its own claim',
  document: 'described by its document: the name is its own claim',
  host: 'a host of documents',
}

const ClientFacts = ({ row }: { readonly row: ClientRow }) => (
  <ObjectFacts
    of="Client"
    noun="client"
    row={row}
    omit={['name']}
    cells={{
      source: ({ source }) => SOURCES[source],
      redirect_uris: ({ redirect_uris: uris }) =>
        uris.length > 0 ? uris.map((uri) => <div key={uri}>{uri}</div>) : undefined,
    }}
    more={[recentRequests({ client: row.client_id })]}
  />
)

const Delete = confirmation<ClientRow>((row) => ({
  title: `Delete ${row.name}`,
  verb: 'Delete the client',
  busyVerb: 'Deleting…',
  isDangerous: true,
  typed: row.name,
  request: () => send('DELETE', pathOf(row.client_id)),
  done: `${row.name} is deleted.`,
  isEnd: true,
  text:
    'Its tokens and sessions end within 2 s, and every consent to it is deleted. The client ' +
    'cannot be restored.',
}))

const Block = confirmation<ClientRow>((row) => ({
  title: `Block ${row.name}`,
  verb: 'Block',
  busyVerb: 'Blocking…',
  isDangerous: true,
  request: () => send('PATCH', pathOf(row.client_id), { body: { blocked: true } }),
  done: `${row.name} is blocked.`,
  text: 'Its requests, refreshes and access tokens are rejected within 2 s.',
}))

const Unblock = confirmation<ClientRow>((row) => ({
  title: `Unblock ${row.name}`,
  verb: 'Unblock',
  busyVerb: 'Unblocking…',
  request: () => send('PATCH', pathOf(row.client_id), { body: { blocked: false } }),
  done: `${row.name} is unblocked.`,
  text: 'Its requests and its tokens that have not expired are accepted again.',
}))

const Rotate = formOf<ClientRow, ClientWithSecret>((row) => ({
  operation: 'rotate_client_secret',
  path: `${pathOf(row.client_id)}/rotate-secret`,
  title: `Rotate the secret of ${row.name}`,
  verb: 'Rotate',
  busyVerb: 'Rotating…',
  values: USUAL_OVERLAP,
  secret: ({ client_secret: value }) =>
    value === undefined
      ? undefined
      : {
          title: `Rotate the secret of ${row.name}`,
          label: 'Client secret',
          value,
          hint: 'Only this dialog displays the secret.',
        },
}))

const operations: readonly RowOperation<ClientRow>[] = [
  {
    verb: 'Rotate the secret',
    role: 'administrator',
    fits: (row) => !row.public,
    dialog: Rotate,
  },
  { verb: 'Block', role: 'administrator', fits: (row) => !row.blocked, dialog: Block },
  { verb: 'Unblock', role: 'administrator', fits: (row) => row.blocked, dialog: Unblock },
  {
    verb: 'Delete',
    role: 'administrator',
    fits: (row) => row.source === 'administration' || row.source === 'registration',
    isDangerous: true,
    dialog: Delete,
  },
]
