/** The options of clients and sign-in: rows of the table `options.ts`. */
import { option } from './option.ts'
import * as kind from './values.ts'

export const signInOptions = {
  audience: option({
    env: 'GATEHOOK_AUDIENCE',
    kind: kind.audiences,
    fallback: '',
    otherwise: 'GATEHOOK_PUBLIC_URL',
    sentence:
      'Audiences that access tokens may have (`aud`); requests that name none get the first.',
  }),
  clientDocuments: option({
    env: 'GATEHOOK_CLIENT_DOCUMENTS',
    kind: kind.documentHosts,
    fallback: null,
    otherwise: 'any if GATEHOOK_PUBLIC_URL is a loopback address, else off',
    sentence:
      'Hosts whose documents may describe OAuth clients; the client id is the URL of the document.',
  }),
  clientRegistration: option({
    env: 'GATEHOOK_CLIENT_REGISTRATION',
    kind: kind.oneOf(['off', 'token', 'open']),
    fallback: 'off',
    sentence: 'OAuth clients register themselves: not, with a key (clients:write), or without.',
  }),
  openid: option({
    env: 'GATEHOOK_OPENID',
    kind: kind.oneOf(['on', 'off']),
    fallback: 'on',
    sentence: 'Clients sign persons in with OpenID Connect: ID tokens, userinfo, discovery.',
  }),
  operatorsIssuer: option({
    env: 'GATEHOOK_OPERATORS_ISSUER',
    kind: kind.webUrl,
    fallback: null,
    sentence: 'Identity provider with which operators sign in to the console (OpenID Connect).',
  }),
  operatorsClientId: option({
    env: 'GATEHOOK_OPERATORS_CLIENT_ID',
    kind: kind.line,
    fallback: null,
    sentence: 'Client of the console at the identity provider.',
  }),
  operatorsClientSecret: option({
    env: 'GATEHOOK_OPERATORS_CLIENT_SECRET',
    kind: kind.line,
    fallback: null,
    secret: true,
    sentence: 'Secret of that client; without it, the client is public.',
  }),
  operatorsScopes: option({
    env: 'GATEHOOK_OPERATORS_SCOPES',
    kind: kind.line,
    fallback: 'openid profile email',
    sentence: 'Scopes that the console requests, separated by spaces.',
  }),
  operatorsClaim: option({
    env: 'GATEHOOK_OPERATORS_CLAIM',
    kind: kind.line,
    fallback: 'groups',
    sentence: 'Claim with the groups of an operator; a dot leads into an object.',
  }),
  operatorsRoles: option({
    env: 'GATEHOOK_OPERATORS_ROLES',
    kind: kind.groupRoles,
    fallback: null,
    sentence:
      'Role of each group; the highest counts, and an operator without a group is rejected.',
  }),
  operatorsPasswords: option({
    env: 'GATEHOOK_OPERATORS_PASSWORDS',
    kind: kind.oneOf(['on', 'break-glass', 'off']),
    fallback: 'on',
    sentence: 'Passwords, links and passkeys of operators; `break-glass` reports each use.',
  }),
} as const
