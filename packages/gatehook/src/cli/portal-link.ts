/** `gatehook portal-link`: a link with which people of a customer open the portal once (§12.2). */

import { listEventScopes } from '../declare/resources/event-types.ts'
import { isInstallationScope } from '../identity/access/administration.ts'
import { linkOperations } from '../pages/portal/portal.ts'
import { type Api, administration } from './api.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
import { bold } from './output.ts'
import { customerIdOf } from './owner.ts'

const WEBHOOK_SCOPES = ['keys:read', 'webhooks:read', 'webhooks:write', 'events:read']

/** Returns the scopes that reading keys and registering endpoints for every event require. */
const defaultScopes = ({ service }: Api): string[] =>
  [...new Set([...WEBHOOK_SCOPES, ...listEventScopes(service)])].filter(
    (scope) => !isInstallationScope(scope),
  )

interface CreatedLink {
  readonly url: string
  readonly customer: string
  readonly mode: string
  readonly can: readonly string[]
  readonly expires_at: string
}

export const portalLink = operationCommand<CreatedLink>(administration, {
  name: 'portal-link <CUSTOMER>',
  summary: 'a link that opens the portal of a customer once, within 30 minutes',
  operation: linkOperations(ANY_SERVICE).create,
  args: ['customer'],
  words: {
    mode: { meaning: 'live (default) or test', isOptional: true },
    can: {
      value: 'SCOPES',
      meaning:
        `the scopes of its session (default: ${WEBHOOK_SCOPES.join(' ')}, and the scopes that ` +
        'read the events of the service)',
      isOptional: true,
    },
  },
  config: ['databaseUrl', 'publicUrl', 'host', 'port'],
  examples: [
    ['gatehook portal-link cus_…', 'send it to a person of the customer'],
    [
      'gatehook portal-link default --mode test --can keys:read keys:write events:read',
      'keys are created with these scopes only',
    ],
  ],
  complete: async (body, api) => ({
    mode: 'live',
    can: defaultScopes(api),
    ...body,
    customer: await customerIdOf(api, String(body.customer)),
  }),
  describe: ({ url, customer, mode, can, expires_at }) =>
    `Opens the portal of ${customer} (${mode}) once, until ${expires_at}, ` +
    `with ${can.join(' ')}:\n\n  ${bold(url)}\n`,
})
