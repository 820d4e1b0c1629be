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
} as const
