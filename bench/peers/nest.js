/**
 * NestJS on Fastify with TypeORM on better-sqlite3, as in its guides: a module, a guard that checks
 * the key, a controller. JavaScript, so the file calls decorators as functions. Logs no request.
 *
 *   --db FILE
 */
import 'reflect-metadata'
import { Controller, Get, Inject, Injectable, Module, Query } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm'
import { EntitySchema } from 'typeorm'
import { announce, option } from './announce.js'
import { keyCheck } from './key.js'

const User = new EntitySchema({
  name: 'User',
  tableName: 'users',
  columns: {
    id: { type: 'integer', primary: true, generated: 'increment' },
    name: { type: 'text' },
    email: { type: 'text', unique: true },
    created_at: { type: 'text' },
  },
})
const ApiKey = new EntitySchema({
  name: 'ApiKey',
  tableName: 'api_keys',
  columns: {
    hash: { type: 'blob', primary: true },
    scopes: { type: 'text' },
  },
})

class KeyGuard {
  #check
  constructor(keys) {
    this.#check = keyCheck((hash) => keys.findOneBy({ hash }))
  }
  canActivate(context) {
    return this.#check(context.switchToHttp().getRequest().headers['x-api-key'])
  }
}
Injectable()(KeyGuard)
Inject(getRepositoryToken(ApiKey))(KeyGuard, undefined, 0)

/** Returns raw rows; entities, by `find` or `getMany`, cost 25 % more. */
const list = (users, after, limit) =>
  users
    .createQueryBuilder('u')
    .select(['u.id AS id', 'u.name AS name', 'u.email AS email', 'u.created_at AS created_at'])
    .where('u.id > :after', { after })
    .orderBy('u.id', 'ASC')
    .limit(limit)
    .getRawMany()

class UsersController {
  #users
  constructor(users) {
    this.#users = users
  }

  async page(query) {
    const limit = Number(query.limit ?? 20)
    if (query.page === undefined) {
      const data = await list(this.#users, Number(query.after ?? 0), limit)
      return { data, next: data.length < limit ? null : data.at(-1).id }
    }
    const page = Number(query.page)
    const options = { order: { id: 'ASC' }, take: limit, skip: (page - 1) * limit }
    const [data, total] = await this.#users.findAndCount(options)
    return { data, page, per_page: limit, total, total_pages: Math.ceil(total / limit) }
  }
}
Controller('users')(UsersController)
Inject(getRepositoryToken(User))(UsersController, undefined, 0)
const page = Object.getOwnPropertyDescriptor(UsersController.prototype, 'page')
Get()(UsersController.prototype, 'page', page)
Query()(UsersController.prototype, 'page', 0)

class AppModule {}
Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'better-sqlite3',
      database: option('db'),
      entities: [User, ApiKey],
      prepareDatabase: (db) => {
        db.pragma('journal_mode = WAL')
        db.pragma('mmap_size = 1073741824')
      },
    }),
    TypeOrmModule.forFeature([User, ApiKey]),
  ],
  controllers: [UsersController],
  providers: [{ provide: APP_GUARD, useClass: KeyGuard }],
})(AppModule)

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] })
await app.listen(0, '127.0.0.1')
announce(await app.getUrl(), () => app.close())
