/** `gatehook clients …`: OAuth clients (§5.5, §13). */
import { DEVICE_GRANT, JWT_BEARER_GRANT } from '../identity/oauth/client.ts'
import type { ClientWithSecret } from '../identity/oauth/client-administration.ts'
import { oauthClient } from '../identity/oauth/client-members.ts'
import { clientOperations } from '../identity/oauth/client-operations.ts'
import { administration } from './api.ts'
import { filterOf, filterOptions } from './arguments.ts'
import type { CommandFamily } from './command.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
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

const operations = clientOperations(ANY_SERVICE)
const createExample = 'gatehook clients create --scopes events:read'

const blocking = (verb: 'block' | 'unblock', blocked: boolean, summary: string) =>
  operationCommand<ClientWithSecret>(administration, {
    name: `${verb} <CLIENT>`,
    summary,
    operation: operations.update,
    body: { blocked },
    examples: [[`gatehook clients ${verb} agent.example`, 'on every node within 2 seconds']],
    describe: ({ client_id }) =>
      `${bold(client_id)} is ${blocked ? 'blocked' : 'accepted'} on every node within 2 seconds.`,
  })

export const clients: CommandFamily = {
  name: 'clients',
  summary: 'OAuth clients: list, create, update, block, unblock, delete, rotate-secret',
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
    operationCommand<ClientWithSecret>(administration, {
      name: 'create',
      summary: 'a new client; its secret is displayed once',
      operation: operations.create,
      words: {
        require_client_auth_on_refresh: {
          meaning:
            'refreshing needs its secret, at /auth/refresh too (default, except for --public); ' +
            'or --no-require-client-auth-on-refresh',
        },
      },
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
      describe: (client) => `${secretText('Created', client)}\n${permissionsText(client)}`,
    }),
    operationCommand<ClientWithSecret>(administration, {
      name: 'update <CLIENT_ID>',
      summary: 'changes a client, and the tokens that it has, at once',
      operation: operations.update,
      examples: [['gatehook clients update client_… --scopes events:read', 'narrows its tokens']],
      describe: ({ client_id, name }) => `Updated ${bold(client_id)} (${name}).`,
    }),
    blocking('block', true, 'rejects a client, a URL of a document, or the documents of a host'),
    blocking('unblock', false, 'accepts it again'),
    operationCommand(administration, {
      name: 'delete <CLIENT_ID>',
      summary: 'deletes a client and revokes its tokens',
      operation: operations.remove,
      examples: [['gatehook clients delete client_…', 'rejected on every node within 2 seconds']],
      resultOf: (_, id) => ({ client_id: id, deleted: true }),
      describe: ({ client_id }) =>
        `Deleted ${bold(client_id)}. Every node rejects its tokens within 2 seconds.`,
    }),
    operationCommand<ClientWithSecret>(administration, {
      name: 'rotate-secret <CLIENT_ID>',
      summary: 'a new secret beside the previous one',
      operation: operations.rotateSecret,
      examples: [['gatehook clients rotate-secret client_… --overlap 1h', 'both are valid']],
      describe: (client) => secretText('Rotated', client),
    }),
  ],
}
