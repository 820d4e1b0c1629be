/** The sheet that registers a client and displays its secret once. */
import { useState } from 'preact/hooks'
import type { Words } from '../../forms/field-words.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Secret } from '../../parts/secret.tsx'
import { DEFAULT_CUSTOMER } from '../customer-names.ts'
import type { CreationProps } from '../list-screen.tsx'
import { ConsoleDialog } from '../operation-forms.tsx'
import { mode, customer as scopeCustomer } from '../scope.ts'
import type { ClientWithSecret } from './client-shapes.ts'

/** Grants of clients with a secret or keys. */
const CONFIDENTIAL_GRANTS = ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer']

const words: Words = {
  name: { hint: 'The consent page displays it.' },
  customer: {},
  public: { label: 'Public: a browser or mobile app, which cannot store a secret', hint: null },
  grant_types: {
    label: 'Grants',
    choices: {
      'urn:ietf:params:oauth:grant-type:device_code': 'device code: a device without a browser',
      'urn:ietf:params:oauth:grant-type:jwt-bearer': 'assertion: a trusted issuer names the person',
    },
    permits: (grant, draft) => draft.public !== true || !CONFIDENTIAL_GRANTS.includes(grant),
  },
  redirect_uris: {
    label: 'Redirect URIs',
    rows: 3,
    hint: 'One per line. The server compares them exactly.',
    placeholder: 'https://app.example.com/callback',
  },
  jwks_uri: {
    label: 'URL of its public keys',
    hint: 'For private_key_jwt, instead of a secret. Optional.',
    placeholder: 'https://app.example.com/jwks.json',
    fits: (draft) => draft.public !== true,
  },
  scopes: {},
}

/** Settings for the command line. */
const OMITTED = [
  'jwks',
  'require_client_auth_on_refresh',
  'first_party',
  'id_token_signed_response_alg',
]

export function RegisterClient({ onClose, onCreate }: CreationProps) {
  const [created, setCreated] = useState<ClientWithSecret>()
  if (created) return <NewClient created={created} onClose={onClose} />
  return (
    <ConsoleDialog<ClientWithSecret>
      operation="create_client"
      path="/admin/clients"
      title="Register a client"
      verb="Register the client"
      busyVerb="Registering…"
      isSheet
      isInline
      words={words}
      omit={OMITTED}
      fixed={{ mode: mode.value }}
      values={{
        customer: scopeCustomer.value ?? DEFAULT_CUSTOMER,
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      }}
      done={(client) => {
        setCreated(client)
        onCreate()
      }}
      onClose={onClose}
    />
  )
}

interface NewClientProps {
  readonly created: ClientWithSecret
  readonly onClose: () => void
}

/** The new client, and its secret if it has one. */
const NewClient = ({ created, onClose }: NewClientProps) => (
  <Dialog
    title={created.name}
    onClose={onClose}
    isRequired={created.client_secret !== undefined}
    isSheet
  >
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
  </Dialog>
)
