/** `gatehook clients …` (§5.5): the acts of §13 on OAuth clients, by the same functions as HTTP. */
import { clientRows } from '../oauth/client-collection.ts'
import { createClient, deleteClient, type NewClient, rotateSecret } from '../oauth/clients.ts'
import type { FamilySpec } from './command.ts'
import { cliCaller, engine, FIRST, known } from './engine.ts'
import { UsageError } from './mistake.ts'
import { bold, dim } from './output.ts'
import { checkScopes, isMeant, meantOptions, overlapOf, overlapOption, words } from './typed.ts'

const shownOnce = ({ client_id, client_secret, name, mode }: NewClient, what: string) =>
  `${what} ${bold(client_id)} (${name}, ${mode}). ${
    client_secret === undefined
      ? 'It is public: it has no secret.\n'
      : `The secret, shown this once:\n\n  ${bold(client_secret)}\n`
  }`

const making = 'gatehook clients create --scope events:read'

export const clients: FamilySpec = {
  name: 'clients',
  summary: 'OAuth clients: list, create, delete, rotate-secret',
  commands: [
    engine.list({
      name: 'list',
      summary: 'clients there are',
      options: meantOptions,
      examples: [['gatehook clients list', 'which applications may ask for tokens']],
      rows:
        (input) =>
        async ({ db }) =>
          (await clientRows.readAll(db)).filter(isMeant(input)),
      none:
        'No clients. Make one: ' +
        'gatehook clients create --name "My app" --redirect-uri https://…',
      columns: {
        client_id: (client) => client.client_id,
        name: (client) => client.name,
        customer: (client) => client.customer,
        mode: (client) => client.mode,
        kind: (client) => (client.public ? 'public' : 'secret'),
        'returns to': (client) => client.redirect_uris.join(' ') || dim('nowhere'),
        scopes: (client) => client.scopes.join(' '), // last: there may be many
      },
    }),
    engine.act({
      name: 'create',
      summary: 'a new client; its secret is shown once',
      options: [
        ['--name <NAME>', 'what people are shown when they are asked'],
        ['--redirect-uri <URIS...>', 'where it may be returned to, exactly'],
        ['--scope <SCOPES...>', 'what it may ask for, separated by commas or spaces'],
        ['--public', 'an app in a browser or on a device: it has no secret'],
        ['--grant-type <TYPES...>', 'authorization_code, client_credentials, refresh_token'],
        [
          '--require-client-auth-on-refresh',
          'refreshing needs its secret, at /auth/refresh too (default, except for --public)',
        ],
        ['--no-require-client-auth-on-refresh', '/auth/refresh accepts its tokens by themselves'],
        ['--first-party', 'your own app: its tokens reach sessions, consents and the password'],
        ['--customer <ID>', 'whose it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
      ],
      examples: [
        [`${making} --name Shop --redirect-uri https://shop.example/callback`, 'a web application'],
        [
          `${making} --name Desk --public --redirect-uri http://127.0.0.1/callback`,
          'an app on a person’s machine; any port will do',
        ],
      ],
      opening: FIRST,
      act({ options: { name, redirectUri, scope, grantType, customer, mode, ...more } }) {
        if (!name) throw new UsageError('Give the client a name: --name "My app"')
        return ({ oauth: { administration } }) => {
          const scopes = words(scope)
          checkScopes(scopes, administration.scopes, 'client', '--scope')
          const wish = {
            name,
            redirect_uris: words(redirectUri),
            scopes,
            public: more.public === true,
            grant_types: grantType === undefined ? undefined : words(grantType),
            require_client_auth_on_refresh: more.requireClientAuthOnRefresh,
            first_party: more.firstParty === true,
            customer,
            mode,
          }
          return createClient(administration, wish, cliCaller())
        }
      },
      said: (client) => shownOnce(client, 'Created'),
    }),
    engine.act({
      name: 'delete <CLIENT_ID>',
      summary: 'ends a client and all its tokens',
      examples: [['gatehook clients delete client_…', 'gone on every node within 2 seconds']],
      act:
        ({ args: [id = ''] }) =>
        async ({ oauth: { administration } }) => {
          await known('client', id, deleteClient(administration, id, cliCaller()))
          return { client_id: id, deleted: true }
        },
      said: ({ client_id }) =>
        `Deleted ${bold(client_id)}. Its tokens are refused within 2 seconds.`,
    }),
    engine.act({
      name: 'rotate-secret <CLIENT_ID>',
      summary: 'a new secret beside the old one',
      options: [overlapOption],
      examples: [['gatehook clients rotate-secret client_… --overlap 1h', 'swap it in meanwhile']],
      act(input) {
        const [id = ''] = input.args
        const wish = { overlap_seconds: overlapOf(input) }
        return ({ oauth: { administration } }) =>
          known('client', id, rotateSecret(administration, id, wish, cliCaller()))
      },
      said: (client) => shownOnce(client, 'Rotated'),
    }),
  ],
}
