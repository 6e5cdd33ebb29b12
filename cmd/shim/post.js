'use strict';
require('./raymond').become('action-post');
