/** An application with Prisma: an interactive transaction adds an invoice and emits its event. */
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '@prisma/client'
import { RolledBack, run, url } from './loop.mjs'

const adapter = new PrismaPg({ connectionString: url, max: 1 })
const prisma = new PrismaClient({ adapter })

await run(({ id, key, emitsFirst, rollsBack }) =>
  prisma.$transaction(async (tx) => {
    const emit = () =>
      tx.$queryRaw`SELECT gatehook.gatehook_emit('invoice.paid',
        ${JSON.stringify({ id })}::jsonb, 'default', key => ${key})`
    if (emitsFirst) await emit()
    await tx.invoice.create({ data: { id } })
    if (!emitsFirst) await emit()
    if (rollsBack) throw new RolledBack()
  }),
)
