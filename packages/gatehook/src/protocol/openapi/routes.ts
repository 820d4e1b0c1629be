/** Serves the OpenAPI documents at `/openapi/{name}.json`, with the public URL of the service. */

import { Failure } from '../../kernel/failure.ts'
import { pathOfUrl } from '../../kernel/uri.ts'
import { b } from '../fields/members.ts'
import type { Route } from '../http/call.ts'
import { implement, operation } from '../http/operation.ts'
import { createResponder, type Responder } from '../http/text-responder.ts'
import type { OpenApiDocument } from './document.ts'
import { WEBHOOKS_TAG } from './event-webhooks.ts'
import { withUsedComponents } from './used-components.ts'

interface DocumentSource {
  readonly names: readonly string[]
  get(name: string): OpenApiDocument | undefined
}

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'public, max-age=60' }

export const documentOperations = {
  read: operation('GET /openapi/:document', {
    id: 'get_openapi_document',
    tag: 'service',
    summary: 'Read an OpenAPI document',
    description: 'Every version has a document; `platform` and `admin` describe the engine.',
    query: {
      webhooks: b
        .oneOf(['0', '1'])
        .optional()
        .describe('`0`: without `webhooks`, for generators that write them as operations.')
        .example('0'),
    },
    params: { document: b.text().describe('The name, then `.json`.').example('v2.json') },
    output: b.openObject({
      openapi: b.text().describe('The version of OpenAPI.').example('3.1.0'),
      info: b.anyObject().describe('The title of the document.'),
      paths: b.anyObject().describe('The operations by path and method.'),
      components: b.anyObject().describe('Schemas, responses, parameters and security schemes.'),
    }),
    returns: 'The document.',
  }),
}

/** Each text is generated at its first request, and once more for another public URL. */
export function openApiRoute(documents: DocumentSource, publicUrl: () => string): Route {
  const cache = new Map<string, { readonly url: string; readonly responder: Responder }>()
  const responderOf = (name: string, hasWebhooks: boolean, url: string): Responder => {
    const key = `${name} ${hasWebhooks}`
    const cached = cache.get(key)
    if (cached?.url === url) return cached.responder
    const general = documents.get(name)!
    const document = hasWebhooks ? general : withoutWebhooks(general)
    const responder = createResponder(JSON.stringify(withServer(document, url)), HEADERS)
    cache.set(key, { url, responder })
    return responder
  }
  return implement(documentOperations.read, (call, _body, { webhooks }) => {
    const file = call.params.document!
    const name = documents.names.find((each) => file === `${each}.json`)
    if (name === undefined) throw new Failure('not_found')
    return responderOf(name, webhooks !== '0', publicUrl())(call)
  })
}

/** Returns the document without `webhooks`, which some generators write as operations. */
export function withoutWebhooks(document: OpenApiDocument): OpenApiDocument {
  const { webhooks: _, ...others } = document
  const tags = (document.tags as readonly { readonly name: string }[]).filter(
    ({ name }) => name !== WEBHOOKS_TAG.name,
  )
  return withUsedComponents({ ...others, tags })
}

/** The URLs of OAuth in security schemes, which do not follow `servers`. */
const OAUTH_URLS = /("(?:authorizationUrl|tokenUrl|refreshUrl)":")\//g

/** Returns the document with the public URL of the API. */
export function withServer(document: OpenApiDocument, url: string): OpenApiDocument {
  const [server] = document.servers as readonly object[]
  const served = { ...document, servers: [{ ...server, url }] }
  const path = pathOfUrl(url)
  if (path === '') return served
  return JSON.parse(JSON.stringify(served).replace(OAUTH_URLS, `$1${path}/`))
}
