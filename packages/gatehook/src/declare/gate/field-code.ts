/** Generates TypeScript: the declaration of a field as a lock has it. Pure. */
import type { CodeWriter, FieldKind } from '../../protocol/fields/kind.ts'
import { fieldKindOf, fieldKinds } from '../../protocol/fields/kinds/table.ts'
import type { LockedField } from './lock.ts'

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)

/** A lock can name a kind that this release lacks: its values are any JSON. */
const kindOf = ({ kind }: LockedField): FieldKind => fieldKindOf({ kind }) ?? fieldKinds.json

/** Returns the declaration of a field: `f.string().min(1).max(200)`. */
export function fieldCode(spec: LockedField): string {
  const { min, max, nullable, write } = spec
  if (spec.stamp) return spec.stamp === 'created' ? 'f.createdAt()' : 'f.updatedAt()'
  const { call = spec.kind, callCode, hasBoundsInCall, initial, isMap } = kindOf(spec)
  const code: CodeWriter = { field: fieldCode, literal }
  const isOwn = (name: 'min' | 'max') =>
    !hasBoundsInCall && spec[name] !== undefined && spec[name] !== initial?.[name]
  const methods = [
    `f.${call}(${callCode?.(spec, code) ?? ''})`,
    ...(isOwn('min') ? [`min(${min})`] : []),
    ...(isOwn('max') ? [`max(${max})`] : []),
    ...(nullable ? ['nullable()'] : []),
    ...(spec.default === undefined || isMap ? [] : [`default(${literal(spec.default)})`]),
    ...(write === 'never' ? ['readonly()'] : []),
    ...(spec.isWriteOnce ? ['writeOnce()'] : []),
    ...(spec.isWriteOnly ? ['writeOnly()'] : []),
    ...(spec.isSecret && !spec.isWriteOnly ? ['secret()'] : []),
    ...(spec.unit === undefined ? [] : [`unit(${literal(spec.unit)})`]),
    ...(spec.visibleTo === undefined ? [] : [`visible(${literal(spec.visibleTo)})`]),
    ...(spec.writableBy === undefined ? [] : [`writable(${literal(spec.writableBy)})`]),
  ]
  return methods.join('.')
}
