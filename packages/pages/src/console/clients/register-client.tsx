/** The sheet that registers a client and displays its secret once. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Check, Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { Secret } from '../../parts/secret.tsx'
import { useSend } from '../../use-send.ts'
import { customerOptions, DEFAULT_CUSTOMER } from '../customer-names.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { ScopeRow } from '../keys/key-shapes.ts'
import { mode, customer as scopeCustomer } from '../scope.ts'
import type { ClientWithSecret } from './client-shapes.ts'

interface RegisterClientProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

export function RegisterClient({ onClose, onCreate }: RegisterClientProps) {
  const [created, setCreated] = useState<ClientWithSecret>()
  return (
    <Dialog
      title={created?.name ?? 'Register a client'}
      onClose={onClose}
      isRequired={created?.client_secret !== undefined}
      isSheet
    >
      {created ? (
        <NewClient created={created} onClose={onClose} />
      ) : (
        <ClientForm
          onCreate={(client) => {
            setCreated(client)
            onCreate()
          }}
        />
      )}
    </Dialog>
  )
}

interface NewClientProps {
  readonly created: ClientWithSecret
  readonly onClose: () => void
}

const NewClient = ({ created, onClose }: NewClientProps) => (
  <>
    <p class="label">Client id</p>
    <p>
      <code>{created.client_id}</code>
    </p>
    {created.client_secret ? (
      <Secret
        label="Client secret"
        value={created.client_secret}
        hint="Only this page displays the secret. The server stores its hash."
      />
    ) : (
      <p class="soft small">
        {created.public
          ? 'A public client has no secret; PKCE protects its codes.'
          : 'The client signs assertions with its own keys, and has no secret.'}
      </p>
    )}
    <Button kind="first" onClick={onClose}>
      {created.client_secret ? 'I have stored it' : 'Done'}
    </Button>
  </>
)

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const USUAL_GRANTS = ['authorization_code', 'refresh_token', 'client_credentials'] as const
const ASSERTION_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const GRANTS = [...USUAL_GRANTS, DEVICE_GRANT, ASSERTION_GRANT] as const
const CONFIDENTIAL_GRANTS: readonly string[] = ['client_credentials', ASSERTION_GRANT]
const PUBLIC_GRANTS = GRANTS.filter((grant) => !CONFIDENTIAL_GRANTS.includes(grant))
const LABELS: Readonly<Record<string, string>> = {
  [DEVICE_GRANT]: 'device code: a device without a browser',
  [ASSERTION_GRANT]: 'assertion: a trusted issuer names the person',
}
const grantLabel = (grant: string): string => LABELS[grant] ?? grant.replaceAll('_', ' ')

function ClientForm({ onCreate }: { readonly onCreate: (client: ClientWithSecret) => void }) {
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [name, setName] = useState('')
  const [owner, setOwner] = useState(scopeCustomer.value ?? DEFAULT_CUSTOMER)
  const [uris, setUris] = useState('')
  const [isPublic, setPublic] = useState(false)
  const [keysUrl, setKeysUrl] = useState('')
  const [grants, setGrants] = useState<ReadonlySet<string>>(new Set(USUAL_GRANTS))
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const { isBusy, failure, messageOf, run } = useSend()
  const available = isPublic ? PUBLIC_GRANTS : GRANTS
  const submit = () =>
    run(async () => {
      const body = {
        name,
        customer: owner,
        mode: mode.value,
        redirect_uris: uris.split(/\s+/).filter(Boolean),
        scopes: [...selected],
        public: isPublic,
        ...(keysUrl !== '' && { jwks_uri: keysUrl }),
        grant_types: available.filter((grant) => grants.has(grant)),
      }
      onCreate((await send<ClientWithSecret>('POST', '/admin/clients', { body })).body)
    })
  const toggle = (grant: string, isOn: boolean) => {
    const next = new Set(grants)
    if (isOn) next.add(grant)
    else next.delete(grant)
    setGrants(next)
  }
  return (
    <Form onSubmit={submit}>
      {failure && <Failed failure={failure} />}
      <Field
        label="Name"
        value={name}
        onInput={setName}
        hint="The consent page displays it."
        error={messageOf('/name')}
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
      <Check
        checked={isPublic}
        onChange={setPublic}
        label="Public: a browser or mobile app, which cannot store a secret"
      />
      <fieldset>
        <legend class="label">Grants</legend>
        {available.map((grant) => (
          <Check
            key={grant}
            checked={grants.has(grant)}
            onChange={(isOn) => toggle(grant, isOn)}
            label={grantLabel(grant)}
          />
        ))}
      </fieldset>
      <Field
        label="Redirect URIs"
        value={uris}
        onInput={setUris}
        rows={3}
        hint="One per line. The server compares them exactly."
        placeholder="https://app.example.com/callback"
        error={messageOf('/redirect_uris')}
      />
      {!isPublic && (
        <Field
          label="URL of its public keys"
          value={keysUrl}
          onInput={setKeysUrl}
          hint="For private_key_jwt, instead of a secret. Optional."
          placeholder="https://app.example.com/jwks.json"
          error={messageOf('/jwks_uri')}
        />
      )}
      <Part of={scopes} subject="scopes">
        {({ data }) => (
          <ScopeMatrix
            scopes={data.filter(({ name: scope }) => !isInstallationScope(scope))}
            selected={selected}
            onChange={setSelected}
          />
        )}
      </Part>
      {messageOf('/scopes') && <p class="err">{messageOf('/scopes')}</p>}
      <Button kind="first" type="submit" busy={isBusy && 'Registering…'}>
        Register the client
      </Button>
    </Form>
  )
}
