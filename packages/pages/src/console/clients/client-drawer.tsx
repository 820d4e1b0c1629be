/** One OAuth client: its facts, the rotation of its secret, and its deletion. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { OVERLAPS } from '../../overlaps.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { Id } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { customerName } from '../customer-names.ts'
import { mayChange } from '../session.ts'
import type { ClientRow, ClientWithSecret } from './client-shapes.ts'

interface ClientDrawerProps {
  readonly id: string
  readonly closeHref: string
  readonly onChange: () => void
}

export function ClientDrawer({ id, closeHref, onChange }: ClientDrawerProps) {
  const path = `/admin/clients/${encodeURIComponent(id)}`
  const client = useLoaded<ClientRow>(path)
  const [operation, setOperation] = useState<'rotate' | 'delete'>()
  const close = () => setOperation(undefined)
  const row = client.data
  return (
    <Drawer title={row?.name ?? <span class="mono">{id}</span>} closeHref={closeHref}>
      <Part of={client} subject="the client">
        {(data) => (
          <>
            <Facts row={data} />
            {mayChange('administrator') && (
              <div class="bar">
                {!data.public && (
                  <Button size="tiny" onClick={() => setOperation('rotate')}>
                    Rotate the secret…
                  </Button>
                )}
                <Button size="tiny" kind="danger" onClick={() => setOperation('delete')}>
                  Delete…
                </Button>
              </div>
            )}
          </>
        )}
      </Part>
      <CallLine path={path} />
      {row && operation === 'rotate' && <Rotate row={row} onClose={close} />}
      {row && operation === 'delete' && (
        <Confirm
          title={`Delete ${row.name}`}
          verb="Delete the client"
          busyVerb="Deleting…"
          isDangerous
          typed={row.name}
          onClose={close}
          run={async () => {
            await send('DELETE', path)
            say(`${row.name} is deleted.`)
            onChange()
            go(closeHref)
          }}
        >
          <p>
            Its tokens and sessions end within 2 s, and every consent to it is deleted. The client
            cannot be restored.
          </p>
        </Confirm>
      )}
    </Drawer>
  )
}

const Facts = ({ row }: { readonly row: ClientRow }) => (
  <dl class="kv">
    <dt>Client id</dt>
    <dd>
      <Id id={row.client_id} subject="client id" />
    </dd>
    <dt>Customer</dt>
    <dd>
      <a href={href(`/console/customers/${row.customer}`)}>{customerName(row.customer)}</a>,{' '}
      {row.mode}
    </dd>
    <dt>Kind</dt>
    <dd>
      {row.public ? 'public, without a secret' : 'confidential'}
      {row.first_party && ', first party'}
    </dd>
    <dt>Grants</dt>
    <dd>{row.grant_types.join(', ').replaceAll('_', ' ')}</dd>
    <dt>Redirects to</dt>
    <dd class="mono">
      {row.redirect_uris.map((uri) => (
        <div key={uri}>{uri}</div>
      ))}
      {row.redirect_uris.length === 0 && 'none'}
    </dd>
    <dt>Scopes</dt>
    <dd class="mono">{row.scopes.join(' ') || 'none'}</dd>
    <dt>Created</dt>
    <dd>{instant(row.created_at)}</dd>
    <dt>Requests</dt>
    <dd>
      <a href={href('/console/requests', { client: row.client_id, range: '24h' })}>
        the last 24 hours
      </a>
    </dd>
  </dl>
)

interface RotateProps {
  readonly row: ClientRow
  readonly onClose: () => void
}

function Rotate({ row, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[2][0])
  const [rotated, setRotated] = useState<ClientWithSecret>()
  const { isBusy, failure, run } = useSend()
  const rotate = () =>
    run(async () => {
      const path = `/admin/clients/${row.client_id}/rotate-secret`
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
