/** `gatehook portal-link`: a link with which people of a customer open the portal once (§12.2). */

import { listEventScopes } from '../declare/resources/event-types.ts'
import { isInstallationScope } from '../identity/access/administration.ts'
import { type Api, administration, declaredScopes } from './api.ts'
import { requireScopes, words } from './arguments.ts'
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

export const portalLink = administration.action({
  name: 'portal-link <CUSTOMER>',
  summary: 'a link that opens the portal of a customer once, within 30 minutes',
  options: [
    ['--mode <MODE>', 'live (default) or test'],
    [
      '--can <SCOPES...>',
      `the scopes of its session (default: ${WEBHOOK_SCOPES.join(' ')}, and the scopes that read ` +
        'the events of the service)',
    ],
    ['--email <EMAIL>', 'the name of the session in the audit trail'],
    ['--return-url <URL>', 'the page to which the portal links back'],
  ],
  config: ['databaseUrl', 'publicUrl', 'host', 'port'],
  examples: [
    ['gatehook portal-link cus_…', 'send it to a person of the customer'],
    [
      'gatehook portal-link default --mode test --can keys:read keys:write events:read',
      'keys are created with these scopes only',
    ],
  ],
  async act(api, { args: [name = ''], options: { mode = 'live', can, email, returnUrl } }) {
    const scopes = can === undefined ? defaultScopes(api) : words(can)
    requireScopes(scopes, declaredScopes(api), 'session', '--can')
    const customer = await customerIdOf(api, name)
    const body = { customer, mode, can: scopes, email, return_url: returnUrl }
    return api.request<CreatedLink>('POST', '/admin/portal-links', body)
  },
  describe: ({ url, customer, mode, can, expires_at }) =>
    `Opens the portal of ${customer} (${mode}) once, until ${expires_at}, ` +
    `with ${can.join(' ')}:\n\n  ${bold(url)}\n`,
})
