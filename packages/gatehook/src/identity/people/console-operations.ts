/** The operations on the session of the console (§12.2). */

import { ROLES } from '../../kernel/principal.ts'
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { operator } from './collection.ts'
import { operatorCreation } from './operators.ts'
import { signInName, signInToken } from './sign-in-bounds.ts'

export const signInInput = {
  token: signInToken
    .optional()
    .describe('The text after `#token=` in a one-time link.')
    .example('6fQx0N2mVYq3sK8r'),
  email: signInName.optional(),
  password: b.text({ format: 'password' }).optional(),
  code: signInToken
    .optional()
    .describe('A code of the second factor, or a recovery code.')
    .example('123456'),
}
const codeInput = {
  code: b.text().secret().describe('A code of the new second factor.').example('123456'),
}

const sessionMembers = {
  operator: b.text().nullable().describe('Null in the session of a link without an operator.'),
  expires_at: b.time().describe('The end of the session unless it is used before.'),
  second_factor: b
    .oneOf(['enrolment_required', 'verified'])
    .describe('Whether it has to enrol a second factor.'),
}
export const newSession = b.object(sessionMembers).named('NewConsoleSession')
const session = b
  .object({
    ...sessionMembers,
    email: b.text().nullable(),
    role: b.oneOf(ROLES).nullable().describe('The role of the operator.'),
    ends_at: b.time().describe('The end of the session at the latest.'),
  })
  .named('ConsoleSession')

const enrolment = b.object({
  secret: b.text().describe('Base32, for an operator who types it.').example('JBSWY3DPEHPK3PXP'),
  uri: b
    .text({ format: 'uri' })
    .describe('For the QR code that an authenticator app scans.')
    .example('otpauth://totp/API:ada?secret=JBSWY3DPEHPK3PXP'),
})
const recoveryCodes = b.object({
  recovery_codes: b.list(b.text()).describe('Each is valid once.').example(['k3p9-x7q2']),
})

const shared = { tag: 'console', bodyCode: 'invalid_request' } as const

export const consoleOperations = {
  methods: operation('GET /console/sign-in', {
    tag: 'console',
    id: 'get_console_sign_in',
    summary: 'Read how operators sign in',
    output: b
      .object({
        passwords: b
          .oneOf(['on', 'break-glass', 'off'])
          .describe('`break-glass`: for emergencies; each use is reported.'),
        issuer: b
          .text()
          .nullable()
          .describe('The identity provider; `GET /console/oidc` leads to it.')
          .example('https://login.example.com'),
        passkeys: b
          .text()
          .nullable()
          .describe('The console at which passkeys work; null: the public URL has no host name.')
          .example('https://api.example.com/console'),
      })
      .named('ConsoleSignIn'),
  }),
  open: operation('POST /console/session', {
    ...shared,
    id: 'open_console_session',
    summary: 'Open a session of the console',
    description: 'Send the token of a link, or an e-mail address, a password and a code.',
    input: signInInput,
    output: newSession,
    status: 201,
    isSecret: true,
    errors: ['invalid_credentials', 'second_factor_required', 'forbidden'],
  }),
  read: operation('GET /console/session', {
    tag: 'console',
    id: 'get_console_session',
    summary: 'Read the session of the console',
    output: session,
  }),
  close: operation('DELETE /console/session', {
    tag: 'console',
    id: 'close_console_session',
    summary: 'End the session of the console',
    errors: ['forbidden'],
  }),
  createOperator: operation('POST /console/session/operator', {
    tag: 'console',
    id: 'create_own_operator',
    summary: 'Create the operator of a session that has none',
    input: operatorCreation,
    output: operator,
    status: 201,
    errors: ['invalid_state', 'conflict'],
  }),
  enrol: operation('POST /console/session/second-factor', {
    tag: 'console',
    id: 'enrol_second_factor',
    summary: 'Generate the secret of a second factor',
    output: enrolment,
    isSecret: true,
    errors: ['invalid_state', 'second_factor_required'],
  }),
  confirm: operation('PUT /console/session/second-factor', {
    ...shared,
    id: 'confirm_second_factor',
    summary: 'Confirm the second factor with its first code',
    input: codeInput,
    output: recoveryCodes,
    isSecret: true,
    errors: ['invalid_credentials', 'invalid_state', 'second_factor_required'],
  }),
}
