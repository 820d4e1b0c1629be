/** The names of secret fields of a service: no log has a value of such a member. Pure. */
import { secretNames } from '../../protocol/fields/secret-names.ts'
import { declaredInput, specsOfEveryVersion } from './body-versions.ts'
import type { ServiceDefinition } from './service.ts'

/** Returns the names of secret fields of the service, in every version, and of secret inputs. */
export const declaredSecrets = ({ resources, routes }: ServiceDefinition): ReadonlySet<string> =>
  new Set(
    [
      ...resources.flatMap(({ fields, actions, changes }) => [
        fields,
        ...actions.flatMap((action) => specsOfEveryVersion(declaredInput(action))),
        ...changes.map(({ had }) => had as typeof fields),
      ]),
      ...routes.flatMap(({ query, input }) => [query, input].flatMap(specsOfEveryVersion)),
    ].flatMap(secretNames),
  )
