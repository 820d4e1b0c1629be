/** The list only, for whoever has a token that may read it. */
const { factories } = require('@strapi/strapi')

module.exports = factories.createCoreRouter('api::member.member', { only: ['find'] })
