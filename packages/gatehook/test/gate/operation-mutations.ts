/** Changes of paths, parameters, bodies, responses and security (`mutation.ts`). */
import { adds, breaks, integer, type Mutation, schemas as S, same, string } from './mutation.ts'

const U = `${S}/User/properties`
const users = '/paths/~1api~1v2~1users'
const user = '/paths/~1api~1v2~1users~1{id}'
const orders = '/paths/~1api~1v2~1orders'
const pay = '/paths/~1api~1v2~1orders~1{id}~1pay'
const ship = '/paths/~1api~1v2~1orders~1{id}~1ship'
const users200 = `${users}/get/responses/200`
const queryParameter = (name: string, more: object = {}) => ({
  name,
  in: 'query',
  schema: string,
  ...more,
})

const paths: readonly Mutation[] = [
  breaks('a path is removed', [[pay]], 'POST /api/v2/orders/{id}/pay is removed'),
  breaks('a method is removed', [[`${user}/delete`]], 'DELETE /api/v2/users/{id} is removed'),
  breaks('a path is renamed', [
    [pay],
    ['/paths/~1api~1v2~1orders~1{id}~1settle', { post: { responses: {} } }],
  ]),
  adds('a path is new', [['/paths/~1api~1v2~1pets', { get: { responses: {} } }]], 'is new'),
  adds('a method is new', [[`${user}/put`, { responses: {} }]], 'PUT /api/v2/users/{id} is new'),
  same('texts for readers change', [
    [`${users}/get/summary`, 'All of them'],
    [`${U}/name/description`, 'Their name'],
  ]),
]

const requests: readonly Mutation[] = [
  breaks('a parameter is removed', [[`${orders}/get/parameters/7`]], 'is removed: requests that'),
  adds(
    'a parameter is new and optional',
    [[`${pay}/post/parameters/3`, queryParameter('dry')]],
    'is new and optional',
  ),
  breaks(
    'a parameter is new and required',
    [[`${pay}/post/parameters/3`, queryParameter('dry', { required: true })]],
    'is new and required',
  ),
  breaks(
    'a parameter becomes required',
    [[`${pay}/post/parameters/3/required`, true]],
    'is now required',
    [[`${pay}/post/parameters/3`, queryParameter('dry')]],
  ),
  adds(
    'a parameter becomes optional',
    [[`${pay}/post/parameters/3/required`, false]],
    'is now optional',
    [[`${pay}/post/parameters/3`, queryParameter('dry', { required: true })]],
  ),
  breaks(
    'a parameter accepts fewer values',
    [['/components/parameters/Limit/schema/maximum', 50]],
    'above 50',
  ),
  adds(
    'a parameter accepts more values',
    [['/components/parameters/Limit/schema/maximum', 500]],
    'above 100',
  ),
  breaks(
    'a parameter has a new default',
    [['/components/parameters/Limit/schema/default', 5]],
    'is 5 instead of',
    [['/components/parameters/Limit/schema/default', 20]],
  ),
  breaks('a parameter moves to the headers', [['/components/parameters/Limit/in', 'header']]),
  breaks(
    'an array has a new serialization',
    [[`${orders}/get/parameters/7/explode`, true]],
    'has a new serialization',
  ),
  breaks(
    'a pagination style is removed',
    [['/components/parameters/Pagination/schema/enum/0']],
    '"offset"',
  ),
  breaks('an id has a new type', [[`${user}/parameters/0/schema/type`, 'string']]),
  same(
    'a path parameter is renamed',
    [
      [user],
      [
        '/paths/~1api~1v2~1users~1{user_id}',
        { get: { parameters: [{ name: 'user_id', in: 'path', required: true, schema: integer }] } },
      ],
    ],
    undefined,
    [
      [
        user,
        { get: { parameters: [{ name: 'id', in: 'path', required: true, schema: integer }] } },
      ],
    ],
  ),
  breaks(
    'an optional body becomes required',
    [[`${ship}/post/requestBody/required`, true]],
    'is now required',
    [[`${ship}/post/requestBody`, { required: false, content: {} }]],
  ),
  breaks(
    'an operation without a body requires one',
    [[`${pay}/post/requestBody`, { required: true, content: {} }]],
    'now requires a body',
  ),
  adds(
    'an operation accepts a body',
    [[`${pay}/post/requestBody`, { required: false, content: {} }]],
    'now accepts a body',
  ),
  breaks(
    'a header of a response is removed',
    [['/paths/~1webhooks/post/responses/201/headers/Location']],
    'header Location of the response 201',
  ),
  adds(
    'a header of a response is new',
    [['/paths/~1webhooks/post/responses/201/headers/X-New', { schema: { type: 'string' } }]],
    'header X-New',
  ),
  breaks(
    'a header of a response has another type',
    [['/components/headers/Location/schema/type', 'integer']],
    'header Location',
  ),
  breaks('a body is removed', [[`${users}/post/requestBody`]], 'no longer accepts a body'),
  breaks(
    'a media type is no longer accepted',
    [[`${users}/post/requestBody/content`, { 'application/xml': {} }]],
    'no longer accepted as application/json',
  ),
  adds(
    'a media type is accepted',
    [[`${users}/post/requestBody/content/application~1xml`, {}]],
    'also accepted as application/xml',
  ),
]

const responses: readonly Mutation[] = [
  breaks(
    'a success has a new status',
    [[`${users}/post/responses/201`], [`${users}/post/responses/200`, { description: 'New.' }]],
    'no longer returns 201',
  ),
  breaks('a success is new', [[`${pay}/post/responses/202`, {}]], 'can now return 202'),
  adds('an error is new', [[`${pay}/post/responses/423`, {}]], 'can now return 423'),
  adds('an error is removed', [[`${pay}/post/responses/409`]], 'no longer returns 409'),
  adds('304 is new', [[`${pay}/post/responses/304`, {}]], 'can now return 304'),
  breaks(
    'a response has a new media type',
    [[`${users200}/content`, { 'text/csv': {} }]],
    'no longer returned as application/json',
  ),
  adds(
    'a response has a second media type',
    [[`${users200}/content/text~1csv`, {}]],
    'also returned as text/csv',
  ),
  breaks(
    'an export is removed',
    [[`${users}/get/x-exports`, ['text/csv']]],
    'no longer exports application/x-ndjson',
    [[`${users}/get/x-exports`, ['application/x-ndjson', 'text/csv']]],
  ),
  adds('an export is new', [[`${users}/get/x-exports`, ['text/csv']]], 'now exports text/csv'),
  breaks('errors lose a member', [[`${S}/ErrorBody/properties/message`]], '"message" of ErrorBody'),
]

const security: readonly Mutation[] = [
  breaks('a new scope', [[`${pay}/post/x-scope`, 'payments:write']], 'the scope payments:write'),
  adds('no scope', [[`${pay}/post/x-scope`]], 'needs no scope'),
  breaks('a scheme is removed', [['/security/2']], 'Requests with Basic are rejected now'),
  adds('a scheme is new', [['/security/4', { Mtls: [] }]], 'Requests with Mtls'),
  breaks(
    'unauthenticated callers are rejected',
    [[`${users}/get/security`]],
    'Requests with no credential are rejected now; they need ApiKey or Bearer or Basic',
    [[`${users}/get/security`, [{}, { ApiKey: [] }, { Bearer: [] }, { Basic: [] }]]],
  ),
  adds(
    'unauthenticated callers are accepted',
    [[`${users}/get/security`, [{}, { ApiKey: [] }]]],
    'Requests with no credential are accepted too',
  ),
  breaks(
    'the API key moves to a new header',
    [['/components/securitySchemes/ApiKey/name', 'X-Token']],
    'send the credential ApiKey in another way (name)',
  ),
]

export const operationMutations: readonly Mutation[] = [
  ...paths,
  ...requests,
  ...responses,
  ...security,
]
