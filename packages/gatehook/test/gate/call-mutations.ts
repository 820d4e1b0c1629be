/** Changes of calls: paths, parameters, bodies, answers, access (`mutation.ts`). */
import { adds, breaks, type Mutation, schemas as S, same, text, whole } from './mutation.ts'

const U = `${S}/User/properties`
const users = '/paths/~1api~1v2~1users'
const user = '/paths/~1api~1v2~1users~1{id}'
const orders = '/paths/~1api~1v2~1orders'
const pay = '/paths/~1api~1v2~1orders~1{id}~1pay'
const cancel = '/paths/~1api~1v2~1orders~1{id}~1cancel'
const ok = `${users}/get/responses/200`
const parameter = (name: string, more: object = {}) => ({
  name,
  in: 'query',
  schema: text,
  ...more,
})

const paths: readonly Mutation[] = [
  breaks('a path goes', [[pay]], 'POST /api/v2/orders/{id}/pay is gone'),
  breaks('a method goes', [[`${user}/delete`]], 'DELETE /api/v2/users/{id} is gone'),
  breaks('a path is called otherwise', [
    [pay],
    ['/paths/~1api~1v2~1orders~1{id}~1settle', { post: { responses: {} } }],
  ]),
  adds('a path comes', [['/paths/~1api~1v2~1pets', { get: { responses: {} } }]], 'is new'),
  adds('a method comes', [[`${user}/put`, { responses: {} }]], 'PUT /api/v2/users/{id} is new'),
  same('words for people change', [
    [`${users}/get/summary`, 'All of them'],
    [`${U}/name/description`, 'Their name'],
  ]),
]

const calls: readonly Mutation[] = [
  breaks('a parameter goes', [[`${orders}/get/parameters/7`]], 'is gone: calls that send it'),
  adds('a parameter comes', [[`${pay}/parameters/1`, parameter('dry')]], 'is new and may be sent'),
  breaks(
    'a parameter comes that must be sent',
    [[`${pay}/parameters/1`, parameter('dry', { required: true })]],
    'is new and must be sent',
  ),
  breaks('a parameter must be sent', [[`${pay}/parameters/1/required`, true]], 'must be sent now', [
    [`${pay}/parameters/1`, parameter('dry')],
  ]),
  breaks(
    'a parameter takes less',
    [['/components/parameters/Limit/schema/maximum', 50]],
    'above 50',
  ),
  adds(
    'a parameter takes more',
    [['/components/parameters/Limit/schema/maximum', 500]],
    'above 100',
  ),
  breaks(
    'a parameter has another default',
    [['/components/parameters/Limit/schema/default', 5]],
    '5 is taken',
  ),
  breaks(
    'a list is written otherwise',
    [[`${pay}/parameters/1/explode`, false]],
    'written in another way',
    [[`${pay}/parameters/1`, parameter('dry')]],
  ),
  breaks(
    'a style of lists goes',
    [['/components/parameters/Pagination/schema/enum/0']],
    '"offset"',
  ),
  breaks('an id has another type', [[`${user}/parameters/0/schema/type`, 'string']]),
  same(
    'an id is called otherwise',
    [
      [user],
      [
        '/paths/~1api~1v2~1users~1{user_id}',
        { get: { parameters: [{ name: 'user_id', in: 'path', required: true, schema: whole }] } },
      ],
    ],
    undefined,
    [[user, { get: { parameters: [{ name: 'id', in: 'path', required: true, schema: whole }] } }]],
  ),
  same('a header with other capitals', [['/components/parameters/IfMatch/name', 'if-match']]),
  breaks('a body is due', [[`${cancel}/post/requestBody/required`, true]], 'must be sent now'),
  breaks(
    'a body is due where none was',
    [[`${pay}/post/requestBody`, { required: true, content: {} }]],
    'needs a body now',
  ),
  adds('a body may be sent', [[`${pay}/post/requestBody`, { content: {} }]], 'may have a body'),
  breaks('a body is not taken', [[`${cancel}/post/requestBody`]], 'takes no body'),
  breaks(
    'a media type is not taken',
    [[`${users}/post/requestBody/content`, { 'application/xml': {} }]],
    'as application/json is not taken',
  ),
  adds(
    'a media type is taken',
    [[`${users}/post/requestBody/content/application~1xml`, {}]],
    'taken as application/xml too',
  ),
]

const answers: readonly Mutation[] = [
  breaks(
    'another status',
    [[`${users}/post/responses/201`], [`${users}/post/responses/200`, { description: 'New.' }]],
    'never answers 201',
  ),
  breaks('a further success', [[`${pay}/post/responses/202`, {}]], 'can answer 202'),
  adds('a further error', [[`${pay}/post/responses/423`, {}]], 'can answer 423'),
  adds('an error less', [[`${pay}/post/responses/409`]], 'never answers 409'),
  adds('"unchanged" for those who ask', [[`${pay}/post/responses/304`, {}]], 'can answer 304'),
  breaks(
    'an answer in another media type',
    [[`${ok}/content`, { 'text/csv': {} }]],
    'not answered',
  ),
  adds('an answer in a further media type', [[`${ok}/content/text~1csv`, {}]], 'text/csv too'),
  breaks('a header goes', [[`${ok}/headers`]], 'header "x-total-count"', [
    [`${ok}/headers`, { 'X-Total-Count': { schema: whole } }],
  ]),
  breaks('a header has another type', [[`${ok}/headers/X-Total-Count/schema`, text]], 'a text', [
    [`${ok}/headers`, { 'X-Total-Count': { schema: whole } }],
  ]),
  adds('a header comes', [[`${ok}/headers`, { 'X-Page': { schema: whole } }]], 'header "x-page"'),
  breaks('errors lose a member', [[`${S}/Error/properties/message`]], '"message" of Error'),
  breaks('a webhook goes', [['/webhooks/paid']], 'webhook paid is gone', [
    ['/webhooks', { paid: { post: { requestBody: { content: {} } } } }],
  ]),
  breaks(
    'a webhook sends less',
    [['/webhooks/paid/post/requestBody/content/application~1json/schema/properties/a']],
    'gone from answers',
    [
      [
        '/webhooks',
        {
          paid: {
            post: {
              requestBody: {
                content: {
                  'application/json': { schema: { type: 'object', properties: { a: text } } },
                },
              },
            },
          },
        },
      ],
    ],
  ),
]

const access: readonly Mutation[] = [
  breaks('another scope', [[`${pay}/post/x-scope`, 'payments:write']], 'the scope payments:write'),
  breaks('a credential is not taken', [['/security/2']], 'Calls with Basic are not enough'),
  adds('a further credential is taken', [['/security/3', { Mtls: [] }]], 'Calls with Mtls'),
  breaks(
    'two credentials at once',
    [['/security', [{ ApiKey: [], Bearer: [] }]]],
    'ApiKey and Bearer',
  ),
  breaks('a credential where none was asked', [[`${pay}/post/security`]], 'no credential', [
    [`${pay}/post/security`, []],
  ]),
  adds('no credential is asked', [[`${pay}/post/security`, []]], 'no credential'),
  breaks('further OAuth scopes', [['/security', [{ Bearer: ['a', 'b'] }]]], 'Bearer with a, b', [
    ['/security', [{ Bearer: ['a'] }]],
  ]),
  breaks(
    'a key in another header',
    [['/components/securitySchemes/ApiKey/name', 'X-Token']],
    'sent in another way',
  ),
]

export const callMutations: readonly Mutation[] = [...paths, ...calls, ...answers, ...access]
