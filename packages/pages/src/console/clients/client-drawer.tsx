/** One OAuth client: its facts, the rotation of its secret, and its deletion. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { OVERLAPS } from '../../overlaps.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed } from '../../parts/notices.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Id } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import type { OpenRow } from '../list-screen.tsx'
import {
  Facts,
  OfCustomer,
  type OperationProps,
  RowDrawer,
  type RowOperation,
} from '../row-drawer.tsx'
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

const ClientFacts = ({ row }: { readonly row: ClientRow }) => (
  <Facts
    of={[
      ['Client id', <Id id={row.client_id} subject="client id" />],
      ['Customer', <OfCustomer {...row} />],
      [
        'Kind',
        `${row.public ? 'public, without a secret' : 'confidential'}${
          row.first_party ? ', first party' : ''
        }`,
      ],
      ['Grants', row.grant_types.join(', ').replaceAll('_', ' ')],
      [
        'Redirects to',
        row.redirect_uris.length === 0
          ? 'none'
          : row.redirect_uris.map((uri) => <div key={uri}>{uri}</div>),
        'mono',
      ],
      ['Scopes', row.scopes.join(' ') || 'none', 'mono'],
      ['Created', instant(row.created_at)],
      [
        'Requests',
        <a href={href('/console/requests', { client: row.client_id, range: '24h' })}>
          the last 24 hours
        </a>,
      ],
    ]}
  />
)

const Delete = ({ row, onClose, onEnd }: OperationProps<ClientRow>) => (
  <Confirm
    title={`Delete ${row.name}`}
    verb="Delete the client"
    busyVerb="Deleting…"
    isDangerous
    typed={row.name}
    onClose={onClose}
    run={async () => {
      await send('DELETE', pathOf(row.client_id))
      say(`${row.name} is deleted.`)
      onEnd()
    }}
  >
    <p>
      Its tokens and sessions end within 2 s, and every consent to it is deleted. The client cannot
      be restored.
    </p>
  </Confirm>
)

function Rotate({ row, onClose }: OperationProps<ClientRow>) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[2][0])
  const [rotated, setRotated] = useState<ClientWithSecret>()
  const { isBusy, failure, run } = useSend()
  const rotate = () =>
    run(async () => {
      const path = `${pathOf(row.client_id)}/rotate-secret`
      const body = { overlap_seconds: Number(overlap) }
      setRotated((await send<ClientWithSecret>('POST', path, { body })).body)
    })
  const title = `Rotate the secret of ${row.name}`
  if (rotated?.client_secret) {
    return (
      <SecretDialog
        title={title}
        label="Client secret"
        value={rotated.client_secret}
        hint="Only this dialog displays the secret."
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      submit={{ verb: 'Rotate', busy: isBusy && 'Rotating…', run: rotate }}
    >
      <Field label="The old secret" value={overlap} onInput={setOverlap} options={OVERLAPS} />
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

const operations: readonly RowOperation<ClientRow>[] = [
  {
    verb: 'Rotate the secret',
    role: 'administrator',
    fits: (row) => !row.public,
    dialog: Rotate,
  },
  { verb: 'Delete', role: 'administrator', isDangerous: true, dialog: Delete },
]
