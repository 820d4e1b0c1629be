/** The operations on passkeys (§16.12). Bodies are the JSON of WebAuthn (Level 3, §5.1). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { sessionTokens } from '../tokens/api.ts'
import { newSession } from './console-operations.ts'

const MAX_TEXT = 4096
const MAX_ATTESTATION = 32 * 1024

const encoded = (meaning: string, max = MAX_TEXT) =>
  b
    .matching(/^[A-Za-z0-9_-]+={0,2}$/, 'base64url', { max })
    .describe(`${meaning} (base64url).`)
    .example('c2lnbmF0dXJl')
const credentials = (meaning: string) =>
  b
    .list(b.anyObject())
    .optional()
    .describe(meaning)
    .example([{ type: 'public-key', id: 'c2lnbmF0dXJl' }])
const text = (meaning: string, example: string) =>
  b.text({ max: 200 }).optional().describe(meaning).example(example)
const challenge = encoded('The text that the authenticator signs, for one use')
const timeout = b
  .int(0)
  .optional()
  .describe('The time that the person has, in milliseconds.')
  .example(60_000)
const extensions = b.anyObject().optional().describe('Extensions of WebAuthn.').example({})

const creationOptions = b
  .openObject({
    challenge,
    rp: b
      .openObject({ id: text('The host of the passkey.', 'api.example.com'), name: b.text() })
      .describe('The service, as the authenticator shows it.'),
    user: b.openObject({
      id: encoded('The account, in an opaque form'),
      name: b.text(),
      displayName: b.text().describe('The name that the authenticator shows.').example('Ada'),
    }),
    pubKeyCredParams: b
      .list(b.anyObject())
      .describe('The algorithms that the server verifies.')
      .example([{ type: 'public-key', alg: -7 }]),
    timeout,
    excludeCredentials: credentials('The passkeys that the account has.'),
    authenticatorSelection: b
      .anyObject()
      .optional()
      .describe('The duties of the authenticator.')
      .example({ userVerification: 'required' }),
    attestation: text('Whether its maker is proved.', 'none'),
    extensions,
  })
  .named('PasskeyCreationOptions')

const requestOptions = b
  .openObject({
    challenge,
    rpId: text('The host of the passkey.', 'api.example.com'),
    timeout,
    allowCredentials: credentials('The passkeys that may answer; none: any of the host.'),
    userVerification: text('Whether the authenticator verifies the person.', 'required'),
    extensions,
  })
  .named('PasskeyRequestOptions')

const credentialMembers = {
  id: encoded('The id of the passkey'),
  rawId: encoded('The same id'),
  type: b.oneOf(['public-key']),
  authenticatorAttachment: b
    .text({ max: 200 })
    .nullable()
    .optional()
    .describe('Where the authenticator is.')
    .example('platform'),
  clientExtensionResults: b
    .anyObject()
    .optional()
    .describe('Results of extensions, which the server ignores.')
    .example({}),
}

const clientData = encoded('The challenge and the origin, as the browser has them')

const passkeyCreation = {
  ...credentialMembers,
  response: b
    .openObject({
      clientDataJSON: clientData,
      attestationObject: encoded('The new public key', MAX_ATTESTATION),
      transports: b
        .list(b.text({ max: 200 }))
        .optional()
        .describe('The ways to reach the authenticator.')
        .example(['internal']),
    })
    .describe('As the browser returned it (`PublicKeyCredential.toJSON()`).'),
}

const passkeySignIn = {
  ...credentialMembers,
  response: b
    .openObject({
      clientDataJSON: clientData,
      authenticatorData: encoded('The counter and flags of the authenticator'),
      signature: encoded('The signature of both').secret(),
      userHandle: encoded('The account, in an opaque form').nullable().optional(),
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
    isOpen: true,
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
    isOpen: true,
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
    isOpen: true,
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
    isOpen: true,
    bodyCode,
    output: sessionTokens,
    isSecret: true,
    errors: ['invalid_credentials', 'customer_suspended'],
  }),
}
