/** `gatehook clients …`: OAuth clients (§5.5, §13). */
import { DEVICE_GRANT, GRANT_TYPES, JWT_BEARER_GRANT } from '../identity/oauth/client.ts'
import type { ClientWithSecret } from '../identity/oauth/client-administration.ts'
import { oauthClient } from '../identity/oauth/client-members.ts'
import { administration, declaredScopes } from './api.ts'
import {
  filterOf,
  filterOptions,
  overlapOf,
  overlapOption,
  requireScopes,
  words,
} from './arguments.ts'
import type { CommandFamily } from './command.ts'
import { UsageError } from './errors.ts'
import { keySetOf } from './key-set-file.ts'
import { bold } from './output.ts'

const secretText = (
  verb: string,
  { client_id, client_secret, name, mode, public: isPublic }: ClientWithSecret,
) =>
  `${verb} ${bold(client_id)} (${name}, ${mode}). ${
    client_secret === undefined
      ? `It ${isPublic ? 'is public: it' : 'has keys: it'} has no secret.\n`
      : `The secret, displayed only once:\n\n  ${bold(client_secret)}\n`
  }`

/** Returns what a client may do with a person, and without one. */
function permissionsText({ grant_types: grants, scopes, customer }: ClientWithSecret): string {
  const within = `within ${scopes.join(' ')}`
  const refresh = grants.includes('refresh_token') ? ', and refreshes its tokens' : ''
  const hasPerson = grants.includes('authorization_code') || grants.includes(DEVICE_GRANT)
  const withPerson = hasPerson
    ? `acts for each person who consents, ${within}${refresh}.`
    : grants.includes(JWT_BEARER_GRANT)
      ? `acts for each person whom a trusted issuer names, ${within}.`
      : 'nothing.'
  const withoutPerson = grants.includes('client_credentials')
    ? `acts for the whole customer ${customer}, ${within}.`
    : 'nothing.'
  return `With a person:    ${withPerson}\nWithout a person: ${withoutPerson}`
}

const pathOf = (id: unknown) => `/admin/clients/${encodeURIComponent(String(id))}`
const createExample = 'gatehook clients create --scope events:read'

const blocking = (verb: 'block' | 'unblock', blocked: boolean, summary: string) =>
  administration.action({
    name: `${verb} <CLIENT>`,
    summary,
    examples: [[`gatehook clients ${verb} agent.example`, 'on every node within 2 seconds']],
    act: (api, { args: [id] }) => api.request<ClientWithSecret>('PATCH', pathOf(id), { blocked }),
    describe: ({ client_id }) =>
      `${bold(client_id)} is ${blocked ? 'blocked' : 'accepted'} on every node within 2 seconds.`,
  })

export const clients: CommandFamily = {
  name: 'clients',
  summary: 'OAuth clients: list, create, block, unblock, delete, rotate-secret',
  commands: [
    administration.list({
      name: 'list',
      summary: 'all clients',
      options: filterOptions,
      examples: [['gatehook clients list', 'which applications may request tokens']],
      rows: (api, input) => api.list(`/admin/clients?sort=client_id&${filterOf(input)}`),
      empty:
        'No clients. Create one: ' +
        'gatehook clients create --name "My app" --redirect-uri https://…',
      columns: oauthClient,
    }),
    administration.action({
      name: 'create',
      summary: 'a new client; its secret is displayed once',
      options: [
        ['--name <NAME>', 'the name on the consent page'],
        ['--redirect-uri <URIS...>', 'redirect URIs, compared exactly'],
        ['--scope <SCOPES...>', 'scopes it may request, separated by commas or spaces'],
        ['--public', 'an app in a browser or on a device: it has no secret'],
        ['--jwks <FILE>', 'its public keys, for private_key_jwt: it has no secret'],
        ['--jwks-uri <URL>', 'the https URL of its public keys, instead of --jwks'],
        [
          '--grant-type <TYPES...>',
          `${GRANT_TYPES.join(', ')} (default: ` +
            'client_credentials without --redirect-uri, code and refresh with it)',
        ],
        [
          '--require-client-auth-on-refresh',
          'refreshing needs its secret, at /auth/refresh too (default, except for --public)',
        ],
        ['--no-require-client-auth-on-refresh', '/auth/refresh needs its tokens only'],
        ['--first-party', 'your own app: its tokens reach sessions, consents and the password'],
        ['--customer <CUSTOMER>', 'its customer, by id or name (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
      ],
      examples: [
        [`${createExample} --name Shop --redirect-uri https://shop.example/callback`, 'a web app'],
        [
          `${createExample} --name Desk --public --redirect-uri http://127.0.0.1/callback`,
          'an app on a person’s machine; any port is accepted',
        ],
        [
          `${createExample} --name TV --public --grant-type ${DEVICE_GRANT} refresh_token`,
          'a device without a browser (RFC 8628)',
        ],
      ],
      parse({ options: { name, jwks } }) {
        if (!name) throw new UsageError('Give the client a name: --name "My app"')
        return keySetOf(jwks)
      },
      act(api, { options }, jwks) {
        const { name, redirectUri, scope, grantType, customer, mode, ...more } = options
        const scopes = words(scope)
        requireScopes(scopes, declaredScopes(api), 'client', '--scope')
        return api.request<ClientWithSecret>('POST', '/admin/clients', {
          name,
          redirect_uris: words(redirectUri),
          scopes,
          public: more.public === true,
          jwks,
          jwks_uri: more.jwksUri,
          grant_types: grantType === undefined ? undefined : words(grantType),
          require_client_auth_on_refresh: more.requireClientAuthOnRefresh,
          first_party: more.firstParty === true,
          customer,
          mode,
        })
      },
      describe: (client) => `${secretText('Created', client)}\n${permissionsText(client)}`,
    }),
    blocking('block', true, 'rejects a client, a URL of a document, or the documents of a host'),
    blocking('unblock', false, 'accepts it again'),
    administration.action({
      name: 'delete <CLIENT_ID>',
      summary: 'deletes a client and revokes its tokens',
      examples: [['gatehook clients delete client_…', 'rejected on every node within 2 seconds']],
      async act(api, { args: [id = ''] }) {
        await api.request('DELETE', pathOf(id))
        return { client_id: id, deleted: true }
      },
      describe: ({ client_id }) =>
        `Deleted ${bold(client_id)}. Every node rejects its tokens within 2 seconds.`,
    }),
    administration.action({
      name: 'rotate-secret <CLIENT_ID>',
      summary: 'a new secret beside the previous one',
      options: [overlapOption],
      examples: [['gatehook clients rotate-secret client_… --overlap 1h', 'both are valid']],
      parse: (input) => ({ overlap_seconds: overlapOf(input) }),
      act: (api, { args: [id] }, body) =>
        api.request<ClientWithSecret>('POST', `${pathOf(id)}/rotate-secret`, body),
      describe: (client) => secretText('Rotated', client),
    }),
  ],
}
