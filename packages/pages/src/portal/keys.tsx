/** The keys of the customer: create, roll, revoke. A key is displayed once. */
import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { InputProps } from '../forms/field-words.ts'
import { OperationDialog } from '../forms/form-dialog.tsx'
import { columnsOf } from '../lists/columns.tsx'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Empty, Part } from '../parts/notices.tsx'
import { ScopeMatrix } from '../parts/scope-matrix.tsx'
import { Secret } from '../parts/secret.tsx'
import { Table } from '../parts/table.tsx'
import { say } from '../parts/toast.tsx'
import { session } from './session.ts'
import type { Key, Page } from './shapes.ts'

const PATH = '/portal/api/keys'

interface NewKey extends Key {
  readonly key: string
}

type Open = { readonly kind: 'create' } | { readonly kind: 'roll' | 'revoke'; readonly key: Key }

export function KeySection() {
  const keys = useLoaded<Page<Key>>(`${PATH}?limit=100&sort=-id`)
  const [open, setOpen] = useState<Open>()
  const [created, setCreated] = useState<NewKey>()
  const isWritable = session.value!.sections.keys === 'write'
  const close = () => setOpen(undefined)
  return (
    <section class="section" id="keys" aria-labelledby="keys-title">
      <div class="bar">
        <h2 id="keys-title">Keys</h2>
        {isWritable && (
          <div class="right">
            <Button size="tiny" onClick={() => setOpen({ kind: 'create' })}>
              Create a key
            </Button>
          </div>
        )}
      </div>
      <Part of={keys} subject="keys">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No keys yet">A key authenticates the calls of a program.</Empty>
          ) : (
            <KeyTable keys={data} isWritable={isWritable} onOpen={setOpen} />
          )
        }
      </Part>
      {open?.kind === 'create' && (
        <CreateKey
          onClose={close}
          onCreate={(key) => {
            close()
            setCreated(key)
            keys.reload()
          }}
        />
      )}
      {open?.kind === 'roll' && (
        <Confirm
          title={`Roll ${open.key.name}`}
          verb="Roll"
          onClose={close}
          run={async () => {
            const { body } = await send<NewKey>('POST', `${PATH}/${open.key.id}/roll`)
            setCreated(body)
            keys.reload()
          }}
        >
          A new secret is created. The old secret stays valid for 24 hours.
        </Confirm>
      )}
      {open?.kind === 'revoke' && (
        <Confirm
          title={`Revoke ${open.key.name}`}
          verb="Revoke"
          typed={open.key.name}
          isDangerous
          onClose={close}
          run={async () => {
            await send('DELETE', `${PATH}/${open.key.id}`)
            say('Revoked')
            keys.reload()
          }}
        >
          Calls with this key fail at once, and for good.
        </Confirm>
      )}
      {created && <NewKeyDialog created={created} onClose={() => setCreated(undefined)} />}
    </section>
  )
}

interface KeyTableProps {
  readonly keys: readonly Key[]
  readonly isWritable: boolean
  readonly onOpen: (open: Open) => void
}

const columns = columnsOf<Key>('PortalApiKey')

/** The new secret carries every scope of the key, which the session must grant. */
const isRollable = ({ scopes }: Key): boolean =>
  scopes.every((scope) => session.value!.key_scopes.includes(scope))

const KeyTable = ({ keys, isWritable, onOpen }: KeyTableProps) => (
  <Table
    caption="Keys"
    rows={keys}
    rowKey={({ id }) => id}
    columns={[
      ...columns,
      {
        name: 'actions',
        label: <span class="vh">Actions</span>,
        align: 'end',
        cell: (key) =>
          isWritable && (
            <>
              {isRollable(key) && (
                <Button
                  size="tiny"
                  kind="quiet"
                  label={`Roll ${key.name}`}
                  onClick={() => onOpen({ kind: 'roll', key })}
                >
                  Roll…
                </Button>
              )}{' '}
              <Button
                size="tiny"
                kind="quiet"
                label={`Revoke ${key.name}`}
                onClick={() => onOpen({ kind: 'revoke', key })}
              >
                Revoke…
              </Button>
            </>
          ),
      },
    ]}
  />
)

interface CreateKeyProps {
  readonly onClose: () => void
  readonly onCreate: (key: NewKey) => void
}

const ScopesInput = ({ value, onChange }: InputProps) => (
  <ScopeMatrix
    scopes={session.value!.key_scopes.map((name) => ({ name }))}
    selected={value as ReadonlySet<string>}
    onChange={onChange}
  />
)

const CreateKey = ({ onClose, onCreate }: CreateKeyProps) => (
  <OperationDialog<NewKey>
    operation="create_portal_key"
    path={PATH}
    title="Create a key"
    verb="Create"
    busyVerb="Creating…"
    isSheet
    isInline
    only={['name', 'scopes']}
    words={{ name: { hint: 'The program that uses the key.' }, scopes: { input: ScopesInput } }}
    done={onCreate}
    onClose={onClose}
  />
)

interface NewKeyProps {
  readonly created: NewKey
  readonly onClose: () => void
}

const NewKeyDialog = ({ created, onClose }: NewKeyProps) => (
  <Dialog
    title={created.name}
    onClose={onClose}
    footer={
      <Button kind="first" onClick={onClose}>
        I have stored it
      </Button>
    }
  >
    <Secret label="Key" value={created.key} hint="The server cannot display this key again." />
  </Dialog>
)
