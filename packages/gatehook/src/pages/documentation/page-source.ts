/** The values from which the pages of a version are written. Types only. */

import type { EventSample } from '../../declare/resources/event-samples.ts'
import type { ServiceDefinition } from '../../declare/resources/service.ts'
import type { OpenApiDocument } from '../../protocol/openapi/document.ts'
import type { DocumentReader } from './openapi-reader.ts'

export interface PageSource {
  readonly service: ServiceDefinition
  readonly version: string
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  readonly document: OpenApiDocument
  /** The document of the engine's own endpoints. */
  readonly platform: OpenApiDocument
  /** The base of absolute links. */
  readonly base: string
  /** Whether agents connect to `/mcp`. */
  readonly hasMcp: boolean
  /** Event types of the service and the engine, each with a sample of its object. */
  readonly events: readonly EventSample[]
}

export interface PageContext extends PageSource {
  readonly reader: DocumentReader
}
