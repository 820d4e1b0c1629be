/**
 * The public API for declarations: `import { f, resource, service } from 'gatehook'`. The command
 * `gatehook start` runs a service, and so does `openApp` of `gatehook/app`.
 */

export { DeclarationError } from './fields/declaration-mistakes.ts'
export {
  type CreateOf,
  type Field,
  type Fields,
  f,
  type PatchOf,
  type RowOf,
} from './fields/fields.ts'
export { Failure, type FailureCode } from './kernel/failure.ts'
export type { Principal } from './kernel/principal.ts'
export type {
  MailContent,
  MailFacts,
  MailMessage,
  MailOptions,
  MailTransport,
} from './mail/message.ts'
export { smtp } from './mail/smtp.ts'
export { type BodyFields, fields } from './resources/body-fields.ts'
export {
  type EventContext,
  type HandlerOptions,
  type Job,
  type JobContext,
  type JobOptions,
  job,
  type ScheduleContext,
} from './resources/job.ts'
export { type Resource, resource } from './resources/resource.ts'
export type { RouteContext, RouteResult } from './resources/route.ts'
export { type Service, type ServiceOptions, service } from './resources/service.ts'
export type { ServiceReader, ServiceTx } from './resources/service-access.ts'
export { sql } from './storage/sql.ts'
