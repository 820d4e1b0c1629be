/** The room of versions, given what the service declares of them and of its breaking changes. */
import type { Identify } from '../access/authenticate.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Lister } from '../lists/list.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import { changesOf } from '../versions/declaration.ts'
import { openVersions, type Versions } from '../versions/versions.ts'
import type { Ground } from './ground.ts'

export interface VersionPartDeps {
  readonly list: Lister
  readonly record: RecordEvent
  readonly identify: Identify
}

export const versionPart = (
  ground: Ground,
  service: ServiceDefinition,
  { list, record, identify }: VersionPartDeps,
): Promise<Versions> =>
  openVersions({
    ...ground,
    ...{ list, record, identify },
    definitions: service.versions,
    changes: changesOf(service.resources),
    vendor: service.vendor,
    strict: ground.config.strictVersion,
  })
