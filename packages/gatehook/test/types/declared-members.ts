/**
 * The table of declared members has exactly the members of the options' types. The file is
 * compiled, not run.
 */

import type { ActionInput } from '../../src/declare/resources/action.ts'
import type { BodyChangeOptions } from '../../src/declare/resources/body-fields.ts'
import type { declaredMembers } from '../../src/declare/resources/declared-members.ts'
import type { FailureDeclaration } from '../../src/declare/resources/failure.ts'
import type {
  HandlerOptions,
  JobOptions,
  ScheduleOptions,
} from '../../src/declare/resources/job.ts'
import type { ListField } from '../../src/declare/resources/list-options.ts'
import type { MigrationOptions } from '../../src/declare/resources/migration-options.ts'
import type {
  Access,
  ActionOptions,
  ChangeOptions,
  EditableOptions,
  ResourceOptions,
} from '../../src/declare/resources/resource-options.ts'
import type { RouteOptions, RouteOutput, RouteQuery } from '../../src/declare/resources/route.ts'
import type { RuleOptions } from '../../src/declare/resources/rule.ts'
import type { ExternalEvent } from '../../src/declare/resources/service-events.ts'
import type {
  ServiceContact,
  ServiceLicense,
  ServiceOptions,
} from '../../src/declare/resources/service-options.ts'
import type { SignInOptions, SignUpOptions } from '../../src/declare/resources/sign-in.ts'
import type { SoftDeleteOptions } from '../../src/declare/resources/soft-deletion.ts'
import type { AnyForwardOptions, UpstreamOptions } from '../../src/declare/resources/upstream.ts'
import type { MailOptions } from '../../src/platform/mail/message.ts'
import type { Fields } from '../../src/protocol/fields/fields.ts'

type Table = typeof declaredMembers
type Resource = Table['resource']
type Service = Table['service']
type Named<T> = Exclude<keyof T, symbol | number>
/** Is true if both have the same members, else the differing names. */
type Same<A, B> = [Exclude<Named<A>, Named<B>> | Exclude<Named<B>, Named<A>>] extends [never]
  ? true
  : Exclude<Named<A>, Named<B>> | Exclude<Named<B>, Named<A>>

type AnyResourceOptions = ResourceOptions<Fields> & { readonly softDelete?: unknown }
// biome-ignore lint/suspicious/noExplicitAny: the options of any change
type AnyChange = ChangeOptions<any, any, any>
// biome-ignore lint/suspicious/noExplicitAny: the options of any change
type AnyBodyChange = BodyChangeOptions<any, any, any>

export const resource: Same<Resource, AnyResourceOptions> = true
export const list: Same<Resource['list'], AnyResourceOptions['list']> = true
export const field: Same<Resource['list']['filter'], Exclude<ListField<string>, string>> = true
export const access: Same<Resource['access'], Access> = true
export const softDelete: Same<Resource['softDelete'], SoftDeleteOptions> = true
export const action: Same<Table['action'], ActionOptions<Fields, ActionInput, string>> = true
export const rule: Same<Table['rule'], RuleOptions> = true
export const failure: Same<Table['failure'], FailureDeclaration<Fields>> = true
export const editable: Same<Table['editable'], EditableOptions<string>> = true
export const signsIn: Same<Table['signsIn'], SignInOptions<Fields>> = true
export const signUp: Same<Table['signsIn']['signUp'], SignUpOptions<Fields>> = true
export const before: Same<Table['before'], AnyChange> = true
export const bodyBefore: Same<Table['before'], AnyBodyChange> = true
export const route: Same<
  Table['route'],
  RouteOptions<RouteQuery, RouteQuery, string, RouteOutput>
> = true
export const upstream: Same<Table['upstream'], UpstreamOptions> = true
export const forward: Same<Table['forward'], AnyForwardOptions> = true
export const service: Same<Service, ServiceOptions> = true
export const license: Same<Service['license'], ServiceLicense> = true
export const contact: Same<Service['contact'], ServiceContact> = true
export const externalEvent: Same<Service['externalEvents'], ExternalEvent> = true
export const migration: Same<Service['migrations'], MigrationOptions> = true
export const jobOptions: Same<Table['job'], JobOptions> = true
export const every: Same<Table['every'], ScheduleOptions> = true
export const on: Same<Table['on'], HandlerOptions> = true
export const mail: Same<Table['mail'], MailOptions> = true
