/** Changes of schemas: types, sets, bounds, members, forms (`mutation.ts`). */
import { adds, breaks, type Mutation, schemas as S, same, text, whole } from './mutation.ts'

const U = `${S}/User/properties`
const O = `${S}/Order/properties`
const UC = `${S}/UserCreate/properties`
const OC = `${S}/OrderCreate/properties`
const tags = { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 10 }

const values: readonly Mutation[] = [
  breaks(
    'an answer has another type',
    [[`${O}/amount`, text]],
    '"amount" of Order can now be a text',
  ),
  breaks('a request takes another type', [[`${OC}/amount`, text]], 'takes a whole number'),
  breaks('whole numbers only', [[`${UC}/age/type`, 'integer']], 'fraction', [
    [`${UC}/age`, { type: 'number' }],
  ]),
  adds('fractions too', [[`${UC}/age/type`, 'number']], 'fraction', [[`${UC}/age`, whole]]),
  breaks('an answer has fractions', [[`${U}/age/type`, 'number']], 'fraction', [
    [`${U}/age`, whole],
  ]),
  adds('an answer has whole numbers only', [[`${U}/age/type`, 'integer']], 'fraction', [
    [`${U}/age`, { type: 'number' }],
  ]),
  breaks('an answer may be null', [[`${U}/name/type`, ['string', 'null']]], 'can now be null'),
  adds('an answer is never null', [[`${O}/note/type`, 'string']], 'never null'),
  breaks('a request may not be null', [[`${OC}/note/type`, 'string']], 'no longer takes null'),
  adds('a request may be null', [[`${UC}/name/type`, ['string', 'null']]], 'also takes null'),
  breaks('null by anyOf', [[`${U}/name`, { anyOf: [text, { type: 'null' }] }]], 'can now be null'),
  same(
    'null said in another way',
    [[`${U}/nick`, { anyOf: [text, { type: 'null' }] }]],
    undefined,
    [[`${U}/nick`, { type: ['string', 'null'] }]],
  ),
  breaks('an answer knows one more value', [[`${O}/status/enum/5`, 'lost']], '"lost"'),
  adds('an answer knows one value less', [[`${O}/status/enum/4`]], '"cancelled"'),
  breaks('a request takes one value less', [[`${OC}/size/enum/1`]], '"l"', [
    [`${OC}/size`, { type: 'string', enum: ['s', 'l'] }],
  ]),
  adds('a request takes one value more', [[`${OC}/size/enum/2`, 'xl']], '"xl"', [
    [`${OC}/size`, { type: 'string', enum: ['s', 'l'] }],
  ]),
  same('values in another order', [[`${O}/status/enum`, [4, 3, 2, 1, 0].map(status)]]),
  breaks('a text becomes a set', [[`${UC}/name/enum`, ['Ada']]], 'anything but "Ada"'),
  breaks('a set becomes a text', [[`${O}/status/enum`]], 'something other than'),
  breaks('a constant changes', [[`${U}/kind/const`, 'b']], '"b"', [
    [`${U}/kind`, { type: 'string', const: 'a' }],
  ]),
  same('a set that stays open grows', [[`${U}/kind/enum/1`, 'b']], undefined, [
    [`${U}/kind`, { type: 'string', enum: ['a'], 'x-open-set': true }],
  ]),
  breaks('an answer has another format', [[`${O}/created_at/format`, 'date']], 'date-time'),
  breaks('a request has a format', [[`${UC}/name/format`, 'uuid']], 'no uuid'),
  adds('a request has no format', [[`${UC}/email/format`]], 'no email'),
  breaks('an answer has no format', [[`${U}/email/format`]], 'no email'),
  breaks('a pattern comes', [[`${UC}/name/pattern`, '^A']], 'does not match ^A'),
  breaks('a pattern changes', [[`${UC}/name/pattern`, '^B']], 'does not match ^B', [
    [`${UC}/name/pattern`, '^A'],
  ]),
  breaks('steps come', [[`${OC}/amount/multipleOf`, 5]], 'multiple of 5'),
  adds('steps become finer', [[`${OC}/amount/multipleOf`, 5]], 'multiple of 10', [
    [`${OC}/amount/multipleOf`, 10],
  ]),
  adds('numbers become wider', [[`${OC}/amount/format`, 'int64']], 'int32', [
    [`${OC}/amount/format`, 'int32'],
  ]),
]

const bounds: readonly Mutation[] = [
  breaks(
    'a request takes shorter texts',
    [[`${UC}/name/maxLength`, 50]],
    'more than 50 characters',
  ),
  adds('a request takes longer texts', [[`${UC}/name/maxLength`, 500]], 'more than 200 characters'),
  breaks('an answer has longer texts', [[`${U}/name/maxLength`, 500]], 'more than 200 characters'),
  adds('an answer has shorter texts', [[`${U}/name/maxLength`, 50]], 'never a text of more'),
  breaks('a longest is set', [[`${UC}/nick/maxLength`, 9]], 'more than 9', [[`${UC}/nick`, text]]),
  breaks('a longest is lifted in answers', [[`${U}/name/maxLength`]], 'more than 200'),
  breaks('a shortest is raised', [[`${UC}/name/minLength`, 2]], 'fewer than 2 characters'),
  same('a shortest of none', [[`${UC}/nick/minLength`, 0]], undefined, [[`${UC}/nick`, text]]),
  breaks('a least is raised', [[`${OC}/amount/minimum`, 10]], 'a number below 10'),
  adds('a least is lowered', [[`${OC}/amount/minimum`, 0]], 'a number below 1'),
  breaks('an answer goes lower', [[`${O}/amount/minimum`, 0]], 'a number below 1'),
  breaks('a most is lowered', [[`${OC}/amount/maximum`, 99]], 'a number above 99'),
  breaks(
    'a limit itself is excluded',
    [[`${UC}/share`, { type: 'number', exclusiveMaximum: 1 }]],
    '1 itself',
    [[`${UC}/share`, { type: 'number', maximum: 1 }]],
  ),
  same(
    'from 1 is above 0 for whole numbers',
    [[`${UC}/n`, { ...whole, exclusiveMinimum: 0 }]],
    undefined,
    [[`${UC}/n`, { ...whole, minimum: 1 }]],
  ),
  breaks('a list may be shorter only', [[`${UC}/tags/maxItems`, 5]], 'more than 5 items', [
    [`${UC}/tags`, tags],
  ]),
  breaks('a list may hold no repeats', [[`${UC}/tags/uniqueItems`, true]], 'repeats', [
    [`${UC}/tags`, tags],
  ]),
  breaks('elements become longer', [[`${U}/tags/items/maxLength`, 99]], '"tags[]" of User', [
    [`${U}/tags`, tags],
  ]),
  breaks(
    'an object may have fewer members',
    [[`${UC}/meta/maxProperties`, 5]],
    'more than 5 members',
    [[`${UC}/meta`, { type: 'object' }]],
  ),
]

const members: readonly Mutation[] = [
  breaks('an answer loses a member', [[`${U}/name`]], '"name" of User is gone from answers'),
  adds('an answer gets a member', [[`${U}/nick`, text]], '"nick" of User is new in answers'),
  breaks('a closed answer gets a member', [[`${U}/nick`, text]], 'nothing more', [
    [`${S}/User/additionalProperties`, false],
  ]),
  breaks('a member may be missing', [[`${S}/User/required`, ['id', 'email']]], 'may be missing'),
  adds('a member is always there', [[`${S}/User/required/4`, 'nick']], 'in every answer', [
    [`${U}/nick`, text],
  ]),
  breaks('a request loses a member', [[`${OC}/note`]], '"note" of OrderCreate is not taken'),
  adds('a request gets a member', [[`${UC}/nick`, text]], '"nick" of UserCreate is new'),
  breaks(
    'a request gets a member that must be sent',
    [
      [`${UC}/nick`, text],
      [`${S}/UserCreate/required/2`, 'nick'],
    ],
    'must be sent',
  ),
  breaks('a member must be sent', [[`${S}/OrderCreate/required/2`, 'note']], 'must be sent now'),
  adds('a member may be left out', [[`${S}/UserCreate/required/1`]], 'may be left out'),
  breaks(
    'a member is renamed',
    [[`${U}/name`], [`${U}/full_name`, text]],
    '"name" of User is gone',
  ),
  breaks('a member becomes read-only', [[`${UC}/name/readOnly`, true]], 'is not taken'),
  breaks('an answer hides a member', [[`${U}/name/writeOnly`, true]], 'is gone from answers'),
  breaks('unknown members are refused', [[`${S}/Meta/additionalProperties`, false]], 'not named', [
    [`${S}/Meta`, { type: 'object' }],
    [`${UC}/meta`, { $ref: '#/components/schemas/Meta' }],
  ]),
  adds('unknown members are taken', [[`${S}/UserCreate/additionalProperties`, true]], 'not named'),
  breaks('an answer opens', [[`${S}/User/additionalProperties`, true]], 'not named', [
    [`${S}/User/additionalProperties`, false],
  ]),
  breaks('values of a map change', [[`${U}/map/additionalProperties`, whole]], '"map.*"', [
    [`${U}/map`, { type: 'object', additionalProperties: text }],
  ]),
  breaks(
    'a member inside a member goes',
    [[`${U}/address/properties/city`]],
    '"address.city" of User',
    [[`${U}/address`, { type: 'object', properties: { city: text } }]],
  ),
  breaks('another default', [[`${OC}/currency/default`, 'USD']], '"USD" is taken instead of "EUR"'),
  same(
    'parts put together',
    [[`${S}/User`, { allOf: [{ $ref: '#/components/schemas/Base' }] }]],
    undefined,
    [
      [`${S}/Base`, { type: 'object', required: ['id'], properties: { id: whole } }],
      [`${S}/User`, { type: 'object', required: ['id'], properties: { id: whole } }],
    ],
  ),
  breaks(
    'a rare word of JSON Schema',
    [[`${S}/UserCreate/dependentRequired`, { a: ['b'] }]],
    'taken for a break',
  ),
]

const envelopes: readonly Mutation[] = [
  breaks('an envelope goes', [[`${S}/UserList/oneOf/2`]], 'the form "offset/limit"'),
  breaks('an envelope loses a member', [[`${S}/UserList/oneOf/2/properties/total`]], '"total"'),
  adds(
    'an envelope gets a member',
    [[`${S}/UserList/oneOf/2/properties/more`, text]],
    'new in answers',
  ),
  breaks('a form nobody knows', [[`${U}/pet/oneOf/1`, whole]], 'nobody was told of', [
    [`${U}/pet`, { oneOf: [text] }],
  ]),
  adds('a further form is taken', [[`${UC}/pet/oneOf/1`, whole]], 'new form', [
    [`${UC}/pet`, { oneOf: [text] }],
  ]),
  breaks('a form is not taken', [[`${UC}/pet/oneOf/1`]], 'no more', [
    [`${UC}/pet`, { oneOf: [text, whole] }],
  ]),
  same('forms in another order', [[`${UC}/pet/oneOf`, [whole, text]]], undefined, [
    [`${UC}/pet`, { oneOf: [text, whole] }],
  ]),
  breaks('items are another thing', [
    [`${S}/UserList/oneOf/0/properties/data/items`, { $ref: '#/components/schemas/Order' }],
  ]),
]

function status(n: number): string {
  return ['pending', 'paid', 'shipped', 'delivered', 'cancelled'][n]!
}

export const schemaMutations: readonly Mutation[] = [...values, ...bounds, ...members, ...envelopes]
