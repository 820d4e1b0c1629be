/**
 * `/admin/webhooks` and `/admin/deliveries`: the webhooks of all customers, for operators (§13).
 */
import type { RenderObject } from '../../history/events/event.ts'
import type { StoredObjects } from '../../history/events/stored-objects.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Route } from '../../protocol/http/call.ts'
import { allDeliveriesRoute } from './all-deliveries.ts'
import { allEventRoutes } from './all-events.ts'
import { type AllRegistrationsDeps, allRegistrationRoutes } from './all-registrations.ts'
import { type DeliveryRules, reportRoute } from './endpoint-report.ts'
import { anyDeliveryRoute } from './one-delivery.ts'

interface WebhookAdministrationDeps extends AllRegistrationsDeps {
  readonly vault: Vault
  readonly userAgent: string
  readonly objects: StoredObjects
  readonly render: RenderObject
  /** The declared versions. */
  readonly versions: readonly string[]
  readonly rules: DeliveryRules
}

export const webhookAdministrationRoutes = (deps: WebhookAdministrationDeps): Route[] => [
  ...allRegistrationRoutes(deps),
  reportRoute(deps),
  allDeliveriesRoute(deps),
  anyDeliveryRoute(deps),
  ...allEventRoutes(deps),
]
