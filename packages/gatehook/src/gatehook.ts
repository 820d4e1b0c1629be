/**
 * The public API for declarations: `import { f, resource, service } from 'gatehook'`. The command
 * `gatehook start` runs a service, and so does `openApp` of `gatehook/app`.
 */

export { type BodyFields, fields } from './declare/resources/body-fields.ts'
export type { ServiceWords } from './declare/resources/client-types.ts'
export { failure } from './declare/resources/failure.ts'
export {
  type CustomerScheduleContext,
  type EventContext,
  type HandlerOptions,
  type Job,
  type JobContext,
  type JobOptions,
  job,
  type ScheduleContext,
  type ScheduleOptions,
} from './declare/resources/job.ts'
export type { DeclaredFailure } from './declare/resources/listed-failures.ts'
export { event, type ObjectEvent, type RowEvent } from './declare/resources/own-event.ts'
export type { OwnPrincipal as Principal } from './declare/resources/own-principal.ts'
export { sql, table, unscopedSql } from './declare/resources/own-sql.ts'
export type { OwnLog as Log } from './declare/resources/own-words.ts'
export { type Resource, resource } from './declare/resources/resource.ts'
export type { RouteContext, RouteResult, StepContext } from './declare/resources/route.ts'
export { type Service, service } from './declare/resources/service.ts'
export type { ServiceReader, ServiceTx, StepEffect } from './declare/resources/service-access.ts'
export type { ServiceOptions } from './declare/resources/service-options.ts'
export { env } from './declare/resources/upstream.ts'
export { Failure, type FailureCode } from './kernel/failure.ts'
export type {
  MailContent,
  MailFacts,
  MailMessage,
  MailOptions,
  MailTransport,
} from './platform/mail/message.ts'
export { smtp } from './platform/mail/smtp.ts'
export { DeclarationError } from './protocol/fields/declaration-mistakes.ts'
export { f } from './protocol/fields/f.ts'
export type {
  CreateOf,
  EventRowOf,
  Field,
  Fields,
  PatchOf,
  RowOf,
} from './protocol/fields/fields.ts'
