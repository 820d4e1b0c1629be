/** The operations on passkeys (§16.12). Bodies are the JSON of WebAuthn (Level 3, §5.1). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { sessionTokens } from '../tokens/api.ts'
import { newSession } from './console-operations.ts'

const MAX_TEXT = 4096
const MAX_ATTESTATION = 32 * 1024

const encoded = (max = MAX_TEXT) =>
  b.matching(/^[A-Za-z0-9_-]+={0,2}$/, 'base64url', { max }).example('c2lnbmF0dXJl')
const list = b.list(b.anyObject()).optional()
const text = b.text({ max: 200 }).optional()

const creationOptions = b
  .openObject({
    challenge: encoded(),
    rp: b.openObject({ id: text, name: b.text() }),
    user: b.openObject({ id: encoded(), name: b.text(), displayName: b.text() }),
    pubKeyCredParams: b.list(b.anyObject()),
    timeout: b.int(0).optional(),
    excludeCredentials: list,
    authenticatorSelection: b.anyObject().optional(),
    attestation: text,
    extensions: b.anyObject().optional(),
  })
  .named('PasskeyCreationOptions')

const requestOptions = b
  .openObject({
    challenge: encoded(),
    rpId: text,
    timeout: b.int(0).optional(),
    allowCredentials: list,
    userVerification: text,
    extensions: b.anyObject().optional(),
  })
  .named('PasskeyRequestOptions')

const credentialMembers = {
  id: encoded(),
  rawId: encoded(),
  type: b.oneOf(['public-key']),
  authenticatorAttachment: b.text({ max: 200 }).nullable().optional(),
  clientExtensionResults: b.anyObject().optional(),
}

const passkeyCreation = {
  ...credentialMembers,
  response: b
    .openObject({ clientDataJSON: encoded(), attestationObject: encoded(MAX_ATTESTATION) })
    .describe('As the browser returned it (`PublicKeyCredential.toJSON()`).'),
}

const passkeySignIn = {
  ...credentialMembers,
  response: b
    .openObject({
      clientDataJSON: encoded(),
      authenticatorData: encoded(),
      signature: encoded().secret(),
      userHandle: encoded().nullable().optional(),
    })
    .describe('As the browser returned it (`PublicKeyCredential.toJSON()`).'),
}

export const passkey = b
  .object({
    id: b.text().example('psk_01jdq8w9vgk7'),
    created_at: b.time(),
    last_used_at: b.time().nullable(),
  })
  .named('Passkey')

const consoleShared = { tag: 'console', bodyCode: 'invalid_request' } as const
const ownPasskeys = b.object({ data: b.list(passkey) }).named('OperatorPasskeys')

/** Those of operators, under the session of the console. */
export const operatorPasskeyOperations = {
  createOptions: operation('POST /console/passkeys/options', {
    tag: 'console',
    id: 'create_operator_passkey_options',
    summary: 'Begin to create a passkey of the operator',
    description: 'Needs a session that began within the last 5 minutes.',
    output: creationOptions,
    errors: ['invalid_state', 'recent_sign_in_required'],
  }),
  create: operation('POST /console/passkeys', {
    ...consoleShared,
    id: 'create_operator_passkey',
    summary: 'Store a created passkey of the operator',
    description: 'A mail reports it.',
    input: passkeyCreation,
    output: passkey,
    status: 201,
    errors: ['invalid_state', 'recent_sign_in_required', 'conflict'],
  }),
  list: operation('GET /console/passkeys', {
    tag: 'console',
    id: 'list_operator_passkeys',
    summary: 'List the passkeys of the operator',
    output: ownPasskeys,
  }),
  remove: operation('DELETE /console/passkeys/:id', {
    tag: 'console',
    id: 'delete_operator_passkey',
    summary: 'Delete a passkey of the operator',
  }),
  signInOptions: operation('POST /console/login/passkey/options', {
    tag: 'console',
    id: 'console_login_passkey_options',
    summary: 'Begin to sign in to the console by a passkey',
    output: requestOptions,
    errors: ['forbidden'],
  }),
  signIn: operation('POST /console/login/passkey', {
    ...consoleShared,
    id: 'console_login_by_passkey',
    summary: 'Open a session of the console by a passkey',
    description: 'No code of a second factor is needed: the passkey verified its user.',
    input: passkeySignIn,
    output: newSession,
    status: 201,
    isSecret: true,
    errors: ['invalid_credentials', 'forbidden'],
  }),
}

const bodyCode = 'invalid_request'
const RECENT = 'Needs the password or a passkey within the last 5 minutes.'

export const passkeyOperations = {
  createOptions: operation('POST /auth/passkeys/options', {
    id: 'create_passkey_options',
    summary: 'Begin to create a passkey',
    description: `For \`navigator.credentials.create()\`. ${RECENT}`,
    output: creationOptions,
    errors: ['first_party_required', 'recent_sign_in_required'],
  }),
  create: operation('POST /auth/passkeys', {
    id: 'create_passkey',
    summary: 'Store a created passkey',
    description: `A mail reports it. ${RECENT}`,
    input: passkeyCreation,
    bodyCode,
    output: passkey,
    status: 201,
    errors: ['first_party_required', 'recent_sign_in_required', 'conflict'],
  }),
  list: operation('GET /auth/passkeys', {
    id: 'list_own_passkeys',
    summary: 'List the own passkeys',
    output: b.page(passkey),
    errors: ['first_party_required'],
  }),
  remove: operation('DELETE /auth/passkeys/:id', {
    id: 'delete_own_passkey',
    summary: 'Delete an own passkey',
    description: 'Sessions that it opened stay.',
    errors: ['first_party_required'],
  }),
  signInOptions: operation('POST /auth/login/passkey/options', {
    id: 'login_passkey_options',
    summary: 'Begin to sign in by a passkey',
    description: 'For `navigator.credentials.get()`. The challenge is valid once, for 5 minutes.',
    output: requestOptions,
  }),
  signIn: operation('POST /auth/login/passkey', {
    id: 'login_by_passkey',
    summary: 'Sign in by a passkey',
    input: passkeySignIn,
    bodyCode,
    output: sessionTokens,
    isSecret: true,
    errors: ['invalid_credentials', 'customer_suspended'],
  }),
}
