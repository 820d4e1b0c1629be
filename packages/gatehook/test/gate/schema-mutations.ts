/** Changes of types, enumerations, bounds, members and envelopes (`mutation.ts`). */
import { adds, breaks, integer, type Mutation, schemas as S, same, string } from './mutation.ts'

const U = `${S}/User/properties`
const O = `${S}/Order/properties`
const UC = `${S}/UserCreate/properties`
const OC = `${S}/OrderCreate/properties`
const tags = { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 10 }
const sizes = { type: 'string', enum: ['s', 'l'] }
const orderStates = ['pending', 'paid', 'shipped', 'delivered', 'cancelled']

const values: readonly Mutation[] = [
  breaks(
    'a response has a new type',
    [[`${O}/amount`, string]],
    '"amount" of Order can now be a string',
  ),
  breaks('a request has a new type', [[`${OC}/amount`, string]], 'no longer accepts an integer'),
  breaks('a request accepts integers only', [[`${UC}/age/type`, 'integer']], 'fraction', [
    [`${UC}/age`, { type: 'number' }],
  ]),
  adds('a request accepts fractions', [[`${UC}/age/type`, 'number']], 'fraction', [
    [`${UC}/age`, integer],
  ]),
  breaks('a response has fractions', [[`${U}/age/type`, 'number']], 'fraction', [
    [`${U}/age`, integer],
  ]),
  adds('a response has integers only', [[`${U}/age/type`, 'integer']], 'fraction', [
    [`${U}/age`, { type: 'number' }],
  ]),
  breaks('a number has another unit', [[`${O}/amount/x-unit`, 'EUR']], 'unit EUR instead of cent', [
    [`${O}/amount/x-unit`, 'cent'],
  ]),
  same('a number gets a unit', [[`${O}/amount/x-unit`, 'cent']]),
  breaks('a response can be null', [[`${U}/name/type`, ['string', 'null']]], 'can now be null'),
  adds('a response is never null', [[`${O}/note/type`, 'string']], 'can no longer be null'),
  breaks('a request rejects null', [[`${OC}/note/type`, 'string']], 'no longer accepts null'),
  adds('a request accepts null', [[`${UC}/name/type`, ['string', 'null']]], 'also accepts null'),
  breaks('an enum with null rejects null', [[`${UC}/size`, sizes]], 'no longer accepts null', [
    [`${UC}/size`, { type: ['string', 'null'], enum: ['s', 'l', null] }],
  ]),
  breaks('a response has one more value', [[`${O}/status/enum/5`, 'lost']], '"lost"'),
  adds('a response has one value less', [[`${O}/status/enum/4`]], '"cancelled"'),
  breaks('a request accepts one value less', [[`${OC}/size/enum/1`]], '"l"', [
    [`${OC}/size`, sizes],
  ]),
  adds('a request accepts one more value', [[`${OC}/size/enum/2`, 'xl']], '"xl"', [
    [`${OC}/size`, sizes],
  ]),
  same('values in a new order', [[`${O}/status/enum`, orderStates.toReversed()]]),
  breaks('a string becomes an enum', [[`${UC}/name/enum`, ['Ada']]], 'other than "Ada"'),
  breaks('an enum becomes a string', [[`${O}/status/enum`]], 'other than "pending"'),
  same('an open set grows', [[`${U}/kind/enum/1`, 'b']], undefined, [
    [`${U}/kind`, { type: 'string', enum: ['a'], 'x-open-set': true }],
  ]),
  breaks('a response has a new format', [[`${O}/created_at/format`, 'date']], '"date-time"'),
  breaks('a request has a format', [[`${UC}/name/format`, 'uri']], 'not in the format "uri"'),
  adds('a request has no format', [[`${UC}/email/format`]], 'not in the format "idn-email"'),
  breaks('a response has no format', [[`${U}/email/format`]], 'not in the format "idn-email"'),
  breaks('an unknown keyword', [[`${UC}/name/pattern`, '^A']], 'The keyword "pattern" of "name"'),
]

const bounds: readonly Mutation[] = [
  breaks('a request is shorter', [[`${UC}/name/maxLength`, 50]], 'more than 50 characters'),
  adds('a request is longer', [[`${UC}/name/maxLength`, 500]], 'more than 200 characters'),
  breaks('a response is longer', [[`${U}/name/maxLength`, 500]], 'more than 200 characters'),
  adds('a response is shorter', [[`${U}/name/maxLength`, 50]], 'no longer be a string of more'),
  breaks('a maximum length is new', [[`${UC}/nick/maxLength`, 9]], 'more than 9', [
    [`${UC}/nick`, string],
  ]),
  breaks('a response has no maximum length', [[`${U}/name/maxLength`]], 'more than 200'),
  breaks('a minimum length is higher', [[`${UC}/name/minLength`, 2]], 'fewer than 2 characters'),
  same('a minimum length of 0', [[`${UC}/nick/minLength`, 0]], undefined, [[`${UC}/nick`, string]]),
  breaks('a minimum is higher', [[`${OC}/amount/minimum`, 10]], 'a number below 10'),
  adds('a minimum is lower', [[`${OC}/amount/minimum`, 0]], 'a number below 1'),
  breaks('the minimum of a response is lower', [[`${O}/amount/minimum`, 0]], 'a number below 1'),
  breaks('a maximum is lower', [[`${OC}/amount/maximum`, 99]], 'a number above 99'),
  breaks('a minimum of fractions is new', [[`${UC}/share/minimum`, -1]], 'a number below -1', [
    [`${UC}/share`, { type: 'number' }],
  ]),
  breaks('an array is shorter', [[`${UC}/tags/maxItems`, 5]], 'more than 5 items', [
    [`${UC}/tags`, tags],
  ]),
  breaks('an array must not be empty', [[`${UC}/tags/minItems`, 1]], 'fewer than 1 items', [
    [`${UC}/tags`, tags],
  ]),
  breaks('items are longer', [[`${U}/tags/items/maxLength`, 99]], '"tags[]" of User', [
    [`${U}/tags`, tags],
  ]),
]

const members: readonly Mutation[] = [
  breaks('a response loses a member', [[`${U}/name`]], '"name" of User is removed from responses'),
  adds('a response gains a member', [[`${U}/nick`, string]], '"nick" of User is new in responses'),
  breaks('a member may be absent', [[`${S}/User/required`, ['id', 'email']]], 'may now be absent'),
  adds('a member is always present', [[`${S}/User/required/5`, 'nick']], 'in every response', [
    [`${U}/nick`, string],
  ]),
  breaks('a request loses a member', [[`${OC}/note`]], '"note" of OrderCreate is no longer'),
  adds('a request gains an optional member', [[`${UC}/nick`, string]], 'new and optional'),
  breaks(
    'a request gains a required member',
    [
      [`${UC}/nick`, string],
      [`${S}/UserCreate/required/2`, 'nick'],
    ],
    '"nick" of UserCreate is new and required',
  ),
  breaks('a member becomes required', [[`${S}/OrderCreate/required/2`, 'note']], 'now required'),
  adds('a member becomes optional', [[`${S}/UserCreate/required/1`]], 'is now optional'),
  breaks(
    'a member is renamed',
    [[`${U}/name`], [`${U}/full_name`, string]],
    '"name" of User is removed',
  ),
  adds('additional members are accepted', [[`${S}/UserCreate/additionalProperties`, true]]),
  breaks(
    'additional members are rejected',
    [[`${S}/UserCreate/additionalProperties`, false]],
    'additional members',
    [[`${S}/UserCreate/additionalProperties`, true]],
  ),
  breaks('the values of a map change', [[`${U}/map/additionalProperties`, integer]], '"map.*"', [
    [`${U}/map`, { type: 'object', additionalProperties: string }],
  ]),
  breaks(
    'a member of a member is removed',
    [[`${U}/address/properties/city`]],
    '"address.city" of User',
    [[`${U}/address`, { type: 'object', properties: { city: string } }]],
  ),
  breaks('a new default', [[`${OC}/currency/default`, 'USD']], 'is "USD" instead of "EUR"'),
  breaks('no default', [[`${OC}/currency/default`]], 'is removed instead of "EUR"'),
  breaks('a new default behind a scope', [[`${UC}/name/x-default`, 'b']], 'is "b" instead of "a"', [
    [`${UC}/name/x-default`, 'a'],
  ]),
]

const forms: readonly Mutation[] = [
  breaks('a form is removed', [[`${O}/user/oneOf/1`]], 'the form "row"'),
  adds('a form is new', [[`${O}/user/oneOf/2`, { title: 'x' }]], 'the new form "x"'),
  breaks('a set of forms that is not open grows', [[`${O}/user/oneOf/2`, { title: 'x' }]], '"x"', [
    [`${O}/user/x-open-set`],
  ]),
  same(
    'forms in a new order',
    [[`${O}/user/oneOf/3`, { title: 'x' }], [`${O}/user/oneOf/2`]],
    undefined,
    [[`${O}/user/oneOf/2`, { title: 'x' }]],
  ),
]

const pages: readonly Mutation[] = [
  breaks('a page loses a member', [[`${S}/UserList/properties/total`]], '"total" of UserList'),
  adds('a page gains a member', [[`${S}/UserList/properties/more`, string]], 'new in responses'),
  breaks('the rows of a list are another component', [
    [`${S}/UserList/properties/data/items`, { $ref: '#/components/schemas/Order' }],
  ]),
]

export const schemaMutations: readonly Mutation[] = [
  ...values,
  ...bounds,
  ...members,
  ...forms,
  ...pages,
]
