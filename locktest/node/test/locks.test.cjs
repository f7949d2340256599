'use strict';
const { examine } = require('@lockchaos/test');
const { Anyone, Careless, Correct, Forever, claims } = require('./locks.cjs');

examine('correct', { ...claims, attacks: ['stop-release', 'stop-work', 'stop-long'] }, (context) => new Correct(context));
examine('strict', { ...claims, attacks: 'stop-work', inherent: true }, (context) => new Correct(context));
examine('careless', { ...claims, attacks: 'stop-release' }, (context) => new Careless(context));
examine('forever', { ...claims, attacks: 'kill-work' }, (context) => new Forever(context));
examine('anyone', { ...claims, attacks: 'nothing-work' }, (context) => new Anyone(context));
